//! A run of instructions that the fast path knows.

use super::memory::{Lines, Place};
use super::operands::Dependence;
use super::predict::Turn;
use super::run_on::Ways;
use super::shape::Shape;

/// A run of instructions.
pub(super) struct Block {
    pub(super) shapes: Vec<Shape>,
    pub(super) lines: Lines,
    /// How many instructions.
    pub(super) len: u16,
    /// Those that access memory, in order; and how many load and store.
    pub(super) memory: Vec<Place>,
    pub(super) loads: u16,
    pub(super) stores: u16,
    /// Those whose operands are reported, in order, and what those change; none in a core without such operations.
    pub(super) operated: Vec<(u8, Option<Dependence>)>,
    /// Those that may jump: which, and where they went, unless that is an indirect jump.
    pub(super) jumps: Vec<(u8, Turn, u64)>,
    /// Where the fetch may go behind them.
    pub(super) ways: Ways,
    /// The privilege mode's number.
    pub(super) phase: u8,
    /// The same if the block may be looked up.
    pub(super) memoized: u8,
    /// Whose instructions they are.
    pub(super) owner: Option<u32>,
    /// Whether it was executed before.
    pub(super) known: bool,
}
