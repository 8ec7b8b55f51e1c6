//! The signature of a compliance test: the memory between two symbols, as Spike's `+signature` writes it.

use std::fmt::Write;

use tollgate_riscv::{Elf, Machine};

/// Where it begins and ends, in every compliance suite.
const ENDS: [&str; 2] = ["begin_signature", "end_signature"];

/// The addresses of a program's signature.
pub(super) fn place(program: &Elf) -> Option<[u64; 2]> {
    match ENDS.map(|name| program.symbol(name)) {
        [Some(begin), Some(end)] if begin <= end => Some([begin, end]),
        _ => None,
    }
}

/// The memory between two addresses in hexadecimal: so many bytes a line, the highest first.
pub(super) fn read(machine: &Machine, [begin, end]: [u64; 2], line: usize) -> Option<String> {
    let bytes = machine.read_memory(begin, end - begin).ok()?;
    let mut text = String::new();
    for chunk in bytes.chunks(line) {
        for byte in (0..line).rev() {
            let _ = write!(text, "{:02x}", chunk.get(byte).copied().unwrap_or(0));
        }
        text.push('\n');
    }
    Some(text)
}
