//! The sections of a program's file.

use object::{Object, ObjectSection, SectionFlags, elf};

/// Address and bytes of each section of instructions; nothing for a file that cannot be read.
pub(crate) fn executable_sections(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let Ok(file) = object::File::parse(bytes) else { return Vec::new() };
    file.sections()
        .filter(|section| match section.flags() {
            SectionFlags::Elf { sh_flags, .. } => sh_flags.contains(elf::SHF_EXECINSTR),
            _ => false,
        })
        .filter_map(|section| Some((section.address(), section.data().ok()?.to_vec())))
        .collect()
}
