//! Follows the calls of code: which are open, and which one a return ends.
//!
//! A call writes a link register, and a return jumps to where a call would continue. A trap calls its handler, within which no call
//! from before the trap ends.

use tollgate_riscv::{Class, Insn, Op};

/// The registers that hold return addresses (unprivileged specification, 2.5.1).
const LINKS: [u8; 2] = [1, 5];

/// How control leaves an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Leave {
    Next,
    Call { back: u64 },
    Return,
    Trap { epc: u64 },
    TrapReturn,
}

impl Leave {
    /// From an instruction at `pc`.
    pub(crate) fn of(insn: &Insn, pc: u64) -> Self {
        match insn.row().class {
            Class::Jump | Class::JumpReg if LINKS.contains(&insn.rd) => {
                Self::Call { back: pc.wrapping_add(insn.len.into()) }
            }
            Class::JumpReg if LINKS.contains(&insn.rs1) => Self::Return,
            Class::System if matches!(insn.op, Op::Mret | Op::Sret) => Self::TrapReturn,
            _ => Self::Next,
        }
    }
}

/// A call or a trap that is open.
pub(crate) struct Frame<T> {
    /// Where the return continues; of a handler, the instruction that trapped.
    pub(crate) back: u64,
    pub(crate) trap: bool,
    pub(crate) of: T,
}

/// The calls that are open, the outermost first.
pub(crate) struct Calls<T>(pub(crate) Vec<Frame<T>>);

impl<T> Calls<T> {
    /// The innermost handler.
    pub(crate) fn handler(&self) -> Option<usize> {
        self.0.iter().rposition(|frame| frame.trap)
    }

    /// The first call within the innermost handler.
    pub(crate) fn first(&self) -> usize {
        self.handler().map_or(0, |at| at + 1)
    }

    /// The innermost call within the handler that continues at `pc`.
    pub(crate) fn returned(&self, pc: u64) -> Option<usize> {
        let first = self.first();
        Some(first + self.0[first..].iter().rposition(|frame| frame.back == pc)?)
    }
}
