//! A run of instructions that the fast path knows.

use super::memory::{Data, Lines};
use super::operands::Dependence;
use super::predict::Turn;
use super::shape::Shape;
use crate::observer::{Several, Touch};

/// A run of instructions.
pub(super) struct Block {
    pub(super) shapes: Vec<Shape>,
    pub(super) lines: Lines,
    /// How many instructions.
    pub(super) len: u16,
    /// Those that access memory, in order.
    pub(super) memory: Vec<Place>,
    /// How many of them store.
    pub(super) stores: u16,
    /// Those whose operands are reported, in order, and what those change; none in a core without such operations.
    pub(super) operated: Vec<(u8, Option<Dependence>)>,
    /// Those that may jump: which, and where they went, unless the last one is indirect.
    pub(super) jumps: Vec<(u8, Turn, u64)>,
    /// Whether that is so.
    pub(super) indirect: bool,
    /// The privilege mode's number.
    pub(super) phase: u8,
    /// Whether it was executed before.
    pub(super) known: bool,
}

/// An instruction that accesses memory.
pub(super) struct Place {
    /// Which.
    pub(super) at: u8,
    pub(super) size: u8,
    pub(super) store: bool,
}

impl Place {
    /// Its access, known by where that was.
    pub(super) fn data(&self, several: &Several, touch: &Touch) -> Data {
        Data { va: several.outside(touch.va), pa: touch.pa(), size: self.size, store: self.store }
    }
}
