//! The passage of one instruction through the pipe, for stage diagrams.

use super::ledger::{Cause, Causes};
use tollgate_riscv::Privilege;

/// A stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Stage {
    /// Instruction fetch.
    Fetch = 0,
    /// Decode and read registers; operands are waited for here.
    Decode,
    /// Execute.
    Execute,
    /// Memory access.
    Memory,
    /// Write back; the instruction retires when it leaves.
    WriteBack,
}

impl Stage {
    /// In the order of the pipe.
    pub const ALL: [Stage; 5] =
        [Stage::Fetch, Stage::Decode, Stage::Execute, Stage::Memory, Stage::WriteBack];

    /// `IF`, `ID`, `EX`, `MEM` or `WB`.
    pub fn name(self) -> &'static str {
        ["IF", "ID", "EX", "MEM", "WB"][self as usize]
    }
}

/// Why fetched instructions were squashed, or the pipe was restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Flush {
    /// A branch or jump went to another address than was fetched.
    Branch,
    /// An exception.
    Trap,
    /// An interrupt.
    Interrupt,
    /// `mret` or `sret`.
    Return,
    /// A CSR write, `fence.i` or `sfence.vma` that empties the pipe.
    #[strum(serialize = "csr or fence")]
    System,
}

impl Flush {
    /// Its name in lower case, as diagrams show it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Cycles in which an instruction stayed in a stage for a reason of its own: waiting only for the instruction before
/// it does not count as a stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Where.
    pub stage: Stage,
    /// Why.
    pub cause: Cause,
    /// How many cycles it costs.
    pub cycles: u64,
}

/// The passage of one instruction through the pipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Counts fetched instructions, squashed ones too, from 0, in the order of fetching.
    pub sequence: u64,
    /// Its address.
    pub pc: u64,
    /// Its bits; `None` when it was squashed, or could not be fetched: the model does not see those. The
    /// caller can read them from the machine at `pc`.
    pub word: Option<u32>,
    /// The mode.
    pub privilege: Privilege,
    /// The cycle in which it enters each [`Stage`]; `None` for stages that a core does not have (a single-cycle core has
    /// only `WriteBack`, a two-stage core `Fetch` and `WriteBack`) or that were not reached before the squash.
    pub starts: [Option<u64>; 5],
    /// The first cycle in which it is no longer in the pipe.
    pub end: u64,
    /// Its stalls.
    pub stalls: Vec<Stall>,
    /// Why it did not retire, if so. For an instruction that raises an exception this is [`Flush::Trap`], too, and it
    /// reaches write-back; `pc` is then the trap's `epc`.
    pub squashed: Option<Flush>,
}

/// The stalls of a passage, from what was charged; of that, the cycles of walks for its fetch and of further fetches belong to
/// IF.
pub(super) fn stalls(charges: &Causes, fetch_walk: u32, second: u32) -> Vec<Stall> {
    let mut all = Vec::new();
    let mut left = *charges;
    let mut add = |stage, cause: Cause, most: u64| {
        let cycles = left[cause as usize].min(most);
        left[cause as usize] -= cycles;
        if cycles > 0 {
            all.push(Stall { stage, cause, cycles });
        }
    };
    add(Stage::Fetch, Cause::TlbWalk, fetch_walk.into());
    add(Stage::Fetch, Cause::IMiss, u64::MAX);
    add(Stage::Fetch, Cause::Structural, second.into());
    add(Stage::Decode, Cause::LoadUse, u64::MAX);
    add(Stage::Decode, Cause::Csr, u64::MAX);
    add(Stage::Execute, Cause::LongOperation, u64::MAX);
    add(Stage::Memory, Cause::TlbWalk, u64::MAX);
    add(Stage::Memory, Cause::DMiss, u64::MAX);
    add(Stage::Memory, Cause::Structural, u64::MAX);
    all
}

/// Receives passages. `()` discards them and costs nothing.
pub trait Sink {
    /// Whether passages are recorded.
    const ACTIVE: bool = true;

    /// Receives the passage of an instruction, in order of `sequence`.
    fn passage(&mut self, passage: Passage);
}

impl Sink for () {
    const ACTIVE: bool = false;
    fn passage(&mut self, _: Passage) {}
}

impl Sink for Vec<Passage> {
    fn passage(&mut self, passage: Passage) {
        self.push(passage);
    }
}

impl<F: FnMut(Passage)> Sink for F {
    fn passage(&mut self, passage: Passage) {
        self(passage);
    }
}
