//! Where a program's instructions are in its sources.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use gimli::{Dwarf, EndianSlice, LittleEndian};
use object::{Object, ObjectSection};
use tollgate_riscv::asm::Image;

/// A line of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The line itself, without the spaces around it; empty if the file's text is not there.
    pub text: String,
}

/// The lines of a program that was built here.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// What the assembler knows.
    image: Option<Box<Image>>,
    /// The texts of files, by the names that programs have for them, with the names to show.
    texts: BTreeMap<String, (String, String)>,
}

impl Lines {
    /// The lines of assembly.
    pub(super) fn of_assembly(image: Image, texts: BTreeMap<String, String>) -> Self {
        let texts = texts.into_iter().map(|(name, text)| (name.clone(), (name, text)));
        Self { image: Some(Box::new(image)), texts: texts.collect() }
    }

    /// The lines of a file that a compiler knows under another name.
    pub(super) fn of_compiled(known: String, shown: String, text: String) -> Self {
        Self { image: None, texts: BTreeMap::from([(known, (shown, text))]) }
    }

    /// What the assembler made.
    pub(super) fn image(&self) -> Option<&Image> {
        self.image.as_deref()
    }

    /// The line of the instruction at an address; of a program from elsewhere as its debug information has it.
    pub(super) fn at(&self, elf: &[u8], address: u64) -> Option<Place> {
        let (file, line) = match &self.image {
            Some(image) => image.line(address).map(|(file, line)| (file.to_owned(), line))?,
            None => of_debug_information(elf, address)?,
        };
        let known = self.texts.get(&file);
        let text = known.and_then(|(_, text)| text.lines().nth((line as usize).checked_sub(1)?));
        let text = text.unwrap_or_default().trim().to_owned();
        let file = known.map_or(file, |(shown, _)| shown.clone());
        Some(Place { file, line, text })
    }
}

/// The file and line of an instruction as DWARF has it. What is damaged has no lines.
fn of_debug_information(elf: &[u8], address: u64) -> Option<(String, u32)> {
    let file = object::File::parse(elf).ok()?;
    let section = |id: gimli::SectionId| {
        let data = file.section_by_name(id.name()).and_then(|section| section.data().ok());
        Ok::<_, gimli::Error>(EndianSlice::new(data.unwrap_or_default(), LittleEndian))
    };
    let dwarf = Dwarf::load(section).ok()?;
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let Some(program) = unit.line_program.clone() else { continue };
        let mut rows = program.rows();
        let mut before: Option<(u64, u64, u32)> = None;
        while let Ok(Some((header, row))) = rows.next_row() {
            if let Some((start, index, line)) = before
                && (start..row.address()).contains(&address)
            {
                let file = header.file(index)?;
                let name = dwarf.attr_string(&unit, file.path_name()).ok()?.to_string_lossy();
                let folder = file.directory(header).and_then(|it| dwarf.attr_string(&unit, it).ok());
                let folder = folder.map_or(Cow::default(), |folder| folder.to_string_lossy());
                return Some((Path::new(&*folder).join(&*name).to_string_lossy().into_owned(), line));
            }
            let line = row.line().and_then(|line| u32::try_from(line.get()).ok());
            // Of several rows at one address the last statement counts; others only move along.
            if row.is_stmt() || row.end_sequence() || before.is_none_or(|(start, ..)| start != row.address())
            {
                before =
                    line.filter(|_| !row.end_sequence()).map(|line| (row.address(), row.file_index(), line));
            }
        }
    }
    None
}
