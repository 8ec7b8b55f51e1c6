//! The smallest static program: an ELF header, one segment, and an exit.

use crate::memory_file;
use rustix::fs::MemfdFlags;
use std::os::fd::OwnedFd;
use tollgate_measure::Refusal;

/// Its exit status.
pub(super) const STATUS: i32 = 42;

/// `exit(42)` on one architecture.
struct Machine {
    /// `e_machine`.
    number: u16,
    code: &'static [u8],
}

/// The table of architectures. Only those that the program has been run on.
#[cfg(target_arch = "x86_64")]
const MACHINE: Option<Machine> = Some(Machine {
    number: 62,
    code: &[
        0xbf, 42, 0, 0, 0, // mov edi, 42
        0xb8, 60, 0, 0, 0, // mov eax, 60 (exit)
        0x0f, 0x05, // syscall
    ],
});
#[cfg(target_arch = "aarch64")]
const MACHINE: Option<Machine> = Some(Machine {
    number: 183,
    code: &[
        0x40, 0x05, 0x80, 0x52, // mov w0, #42
        0xa8, 0x0b, 0x80, 0x52, // mov w8, #93 (exit)
        0x01, 0x00, 0x00, 0xd4, // svc #0
    ],
});
#[cfg(target_arch = "riscv64")]
const MACHINE: Option<Machine> = Some(Machine {
    number: 243,
    code: &[
        0x13, 0x05, 0xa0, 0x02, // li a0, 42
        0x93, 0x08, 0xd0, 0x05, // li a7, 93 (exit)
        0x73, 0x00, 0x00, 0x00, // ecall
    ],
});
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const MACHINE: Option<Machine> = None;

/// Where it is loaded.
const BASE: u64 = 0x40_0000;
const HEADER: u64 = 64;
const SEGMENT: u64 = 56;

/// The program's file: 64-bit, in the byte order of this machine.
fn image(machine: &Machine) -> Vec<u8> {
    let size = HEADER + SEGMENT + machine.code.len() as u64;
    let order = if cfg!(target_endian = "little") { 1 } else { 2 };
    let mut file = Vec::with_capacity(size as usize);
    file.extend([0x7f, b'E', b'L', b'F', 2, order, 1, 0]);
    file.extend([0; 8]);
    let mut put = |value: u64, bytes: usize| {
        let all = value.to_ne_bytes();
        let part = if cfg!(target_endian = "little") { &all[..bytes] } else { &all[8 - bytes..] };
        file.extend_from_slice(part);
    };
    // e_type (executable), e_machine, e_version, e_entry, e_phoff, e_shoff, e_flags, e_ehsize, e_phentsize,
    // e_phnum, e_shentsize, e_shnum, e_shstrndx.
    for (value, bytes) in [
        (2, 2),
        (machine.number.into(), 2),
        (1, 4),
        (BASE + HEADER + SEGMENT, 8),
        (HEADER, 8),
        (0, 8),
        (0, 4),
        (HEADER, 2),
        (SEGMENT, 2),
        (1, 2),
        (0, 2),
        (0, 2),
        (0, 2),
    ] {
        put(value, bytes);
    }
    // p_type (load), p_flags (read, execute), p_offset, p_vaddr, p_paddr, p_filesz, p_memsz, p_align.
    for (value, bytes) in [(1, 4), (5, 4), (0, 8), (BASE, 8), (BASE, 8), (size, 8), (size, 8), (4096, 8)] {
        put(value, bytes);
    }
    file.extend_from_slice(machine.code);
    file
}

/// The program in a file that exists only in memory, closed on exec.
pub(super) fn in_memory() -> Result<OwnedFd, Refusal> {
    let Some(machine) = MACHINE else {
        return Err(Refusal::skip(
            format!("there is no program for the architecture {}", std::env::consts::ARCH),
            "add its exit to the table in spawn/tiny_program.rs",
        ));
    };
    memory_file::executable("tollgate-exit", &image(&machine), MemfdFlags::CLOEXEC)
}
