//! Programs made of single instructions, and how they are run.
#![allow(dead_code, reason = "each file of tests uses some")]

use std::fs;

use tollgate_lab::program::{self, Job, Outcome, ProgramError, Watch};
use tollgate_riscv::{Insn, Op, Operands};

pub(crate) fn image(name: &str) -> Vec<u8> {
    let path = format!("{}/../../guests/riscv/images/{name}.elf", env!("CARGO_MANIFEST_DIR"));
    fs::read(&path).expect(&path)
}

pub(crate) fn job(program: Vec<u8>) -> Job {
    Job {
        ram_bytes: 8 << 20,
        program: program.into(),
        arguments: vec!["program".into()],
        max_instructions: 1_000_000,
        ..Job::default()
    }
}

pub(crate) fn run(job: &Job, watch: Watch) -> Result<(Outcome, String, String), ProgramError> {
    let (mut console, mut trace) = (Vec::new(), Vec::new());
    let outcome = program::run(job, watch, &mut std::io::empty(), &mut console, &mut trace, &|| false)?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok((outcome, text(console), text(trace)))
}

pub(crate) fn elf(words: &[u32], symbols: &[(&str, u64)]) -> Vec<u8> {
    elf_at(0x8000_0000, words, symbols)
}

pub(crate) fn elf_at(base: u64, words: &[u32], symbols: &[(&str, u64)]) -> Vec<u8> {
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let (mut names, mut table) = (vec![0u8], vec![0u8; 24]);
    for (name, address) in symbols {
        table.extend((names.len() as u32).to_le_bytes());
        // Global, without a type, in the first section.
        table.extend([0x10, 0, 1, 0]);
        table.extend(address.to_le_bytes());
        table.extend([0; 8]);
        names.extend(name.bytes().chain([0]));
    }
    let code_at = 64 + 56;
    let table_at = code_at + code.len();
    let names_at = table_at + table.len();
    let sections_at = names_at + names.len();
    let mut out = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xf3\0\x01\0\0\0".to_vec();
    out.extend([base, 64, sections_at as u64].iter().flat_map(|n| n.to_le_bytes()));
    out.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 4, 0, 3, 0]);
    // To load, readable, writable and executable.
    out.extend([1u32, 7].iter().flat_map(|n| n.to_le_bytes()));
    let len = code.len() as u64;
    out.extend([code_at as u64, base, base, len, len, 4].iter().flat_map(|n| n.to_le_bytes()));
    out.extend([code, table.clone(), names.clone()].concat());
    let mut section = |kind: u32, flags: u64, address: u64, at: usize, len: usize, link: u32, entry: u64| {
        out.extend([0, kind].iter().flat_map(|n| n.to_le_bytes()));
        out.extend([flags, address, at as u64, len as u64].iter().flat_map(|n| n.to_le_bytes()));
        out.extend([link, u32::from(kind == 2)].iter().flat_map(|n| n.to_le_bytes()));
        out.extend([1, entry].iter().flat_map(|n| n.to_le_bytes()));
    };
    section(0, 0, 0, 0, 0, 0, 0);
    section(1, 7, base, code_at, len as usize, 0, 0);
    section(2, 0, 0, table_at, table.len(), 3, 24);
    section(3, 0, 0, names_at, names.len(), 0, 0);
    out
}

pub(crate) fn insn(op: Op, rd: u8, rs1: u8, rs2: u8, imm: i64) -> u32 {
    Insn::encode(op, Operands { rd, rs1, rs2, imm, ..Operands::default() })
}

/// Switches QEMU's machine off.
pub(crate) fn off() -> [u32; 4] {
    [
        insn(Op::Lui, 5, 0, 0, 0x10_0000),
        insn(Op::Lui, 6, 0, 0, 0x5000),
        insn(Op::Addi, 6, 6, 0, 0x555),
        insn(Op::Sw, 0, 5, 6, 0),
    ]
}

/// The same for RV32, without sections.
pub(crate) fn elf32(words: &[u32]) -> Vec<u8> {
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let (base, len) = (0x8000_0000_u32, code.len() as u32);
    let mut out = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xf3\0\x01\0\0\0".to_vec();
    out.extend([base, 52, 0, 0].iter().flat_map(|n| n.to_le_bytes()));
    out.extend([52u16, 32, 1, 40, 0, 0].iter().flat_map(|n| n.to_le_bytes()));
    out.extend([1, 52 + 32, base, base, len, len, 7, 4].iter().flat_map(|n| n.to_le_bytes()));
    out.extend(code);
    out
}
