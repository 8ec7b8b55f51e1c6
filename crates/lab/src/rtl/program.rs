//! A program whose cycles are compared.

use std::ops::Range;

use tollgate_riscv::{Elf, Symbol, Xlen};

use super::error::RtlError;
use crate::deflated::inflated;
use crate::phase::Phase;
use crate::symbols::Marks;

/// Where RAM begins.
pub(super) const RAM: u64 = 0x8000_0000;
pub(super) const RAM_BYTES: u64 = 8 << 20;

/// The purpose of a program: one golden file for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::VariantArray, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Part {
    /// Loops of one hazard or latency each.
    Kernels,
    /// Traps by phase: the lab's guest kernels, or small ones for cores of 32 bits.
    Traps,
    /// Programs from their first instruction to their last.
    Programs,
    /// The same, generated.
    Random,
    /// Interrupts at every cycle of a loop.
    Interrupts,
}

impl Part {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Inflates and parses an image.
pub(super) fn parse(image: &[u8]) -> Result<Elf, RtlError> {
    Ok(Elf::parse(&inflated(image).map_err(RtlError::Deflated)?)?)
}

/// The part of a run that is compared.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// A loop: behind its set-up, and an instruction that each pass retires.
    Loop { setup: Range<u64>, pass: u64 },
    /// Crossings, which begin and end behind these instructions.
    Traps { begin: u64, marks: Marks<Phase> },
    /// From this instruction on.
    Whole { begin: u64 },
    /// From the cycle of an interrupt to its handler.
    Interrupts(Raise),
}

/// When the harness raises an interrupt.
#[derive(Clone, Copy, Debug)]
pub struct Raise {
    /// The instruction that is counted.
    pub at: u64,
    /// How many of them are between two interrupts.
    pub every: u64,
    /// Cycles behind it: from 1 to this, one more each time.
    pub phases: u64,
    /// The handler's first instruction, which takes the interrupt back.
    pub handler: u64,
    /// Where the program has the address of an interrupt controller.
    pub controller: u64,
}

/// A program and the point from which it is compared.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its purpose.
    pub part: Part,
    /// Its name.
    pub name: String,
    /// Cycles that memory takes.
    pub latency: u64,
    /// Where it starts.
    pub entry: u64,
    /// Where it ends.
    pub end: u64,
    /// How often it retires the instruction there.
    pub times: u64,
    /// The contents of memory from the start of RAM.
    pub memory: Vec<u8>,
    pub(super) shape: Shape,
}

impl Program {
    /// The interrupts that it needs.
    #[must_use]
    pub fn raise(&self) -> Option<Raise> {
        match self.shape {
            Shape::Interrupts(raise) => Some(raise),
            _ => None,
        }
    }

    /// Whether this is about the program at that latency.
    #[must_use]
    pub fn is(&self, name: &str, latency: u64) -> bool {
        self.name == name && self.latency == latency
    }
}

/// An image with one of its programs chosen.
pub(super) struct Chosen<'a> {
    pub(super) elf: &'a Elf,
    pub(super) symbol: &'a Symbol,
    /// Its name without the prefix.
    pub(super) name: &'a str,
    pub(super) memory: Vec<u8>,
}

impl Chosen<'_> {
    pub(super) fn address(&self, name: &str) -> Result<u64, RtlError> {
        address(self.elf, name)
    }
}

/// The programs of an image that a word chooses between; their symbols begin with `prefix`. A core cannot run those in
/// `without`: groups, or single ones.
pub(super) fn choose<'a>(
    elf: &'a Elf,
    prefix: &'a str,
    without: &'a [&'a str],
) -> Result<impl Iterator<Item = Chosen<'a>>, RtlError> {
    let selected = (address(elf, "selected")? - RAM) as usize + if elf.xlen == Xlen::Rv64 { 8 } else { 4 };
    let memory = flat(elf);
    Ok(elf.symbols.iter().filter_map(move |symbol| {
        let name = symbol.name.strip_prefix(prefix)?;
        let group = name.split('.').next().unwrap_or(name);
        if without.iter().any(|&other| other == group || other == name) {
            return None;
        }
        let mut memory = memory.clone();
        memory[selected..selected + 4]
            .copy_from_slice(&(symbol.address.wrapping_sub(elf.entry) as u32).to_le_bytes());
        Some(Chosen { elf, symbol, name, memory })
    }))
}

pub(super) fn address(elf: &Elf, name: &str) -> Result<u64, RtlError> {
    elf.symbol(name).ok_or_else(|| RtlError::Symbol(name.to_owned()))
}

/// The first address from `from` on whose symbol begins with this.
pub(super) fn next(elf: &Elf, prefix: &str, from: u64) -> Result<u64, RtlError> {
    let found = elf.symbols.iter().find(|it| it.address >= from && it.name.starts_with(prefix));
    found.map(|it| it.address).ok_or_else(|| RtlError::Symbol(prefix.to_owned()))
}

/// The segments of a program, from the start of RAM.
pub(super) fn flat(elf: &Elf) -> Vec<u8> {
    let mut memory = Vec::new();
    for segment in &elf.segments {
        let start = segment.address.saturating_sub(RAM) as usize;
        let end = start + segment.data.len();
        memory.resize(memory.len().max(end), 0);
        memory[start..end].copy_from_slice(&segment.data);
    }
    memory
}
