//! Runs of decoded instructions, cut where another function or phase begins and where control leaves to a call.

use std::ops::Range;

use tollgate_riscv::{BlockInsn, Class, Pass, Several};

use crate::phase::Phase;
use crate::stacks::Leave;

/// Runs whose parts are found at once; a power of two.
const RUNS: usize = 1 << 13;
/// Parts that are kept before all are dropped.
const MOST: usize = 1 << 18;
/// No run's number.
const NOTHING: u64 = u64::MAX;

/// Instructions of a run that follow each other, of one function and phase; only the last may call or return.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// The address of the first one.
    pub(crate) pc: u64,
    /// The place behind the last one.
    pub(crate) end: u16,
    pub(crate) phase: Phase,
    pub(crate) function: usize,
    pub(crate) instructions: u64,
    /// How many load or store, and how many are reported with their operands.
    pub(crate) accesses: usize,
    pub(crate) operands: usize,
    pub(crate) leave: Leave,
}

/// The parts of the runs that were seen.
pub(crate) struct Parts {
    epoch: u64,
    /// By the lowest bits of a run's number: the number with the mode, and its parts.
    runs: Vec<(u64, Range<u32>)>,
    parts: Vec<Part>,
}

impl Parts {
    pub(crate) fn new() -> Self {
        Self { epoch: NOTHING, runs: vec![(NOTHING, 0..0); RUNS], parts: Vec::new() }
    }

    /// Where the parts of a run are; `of` yields the function and the phase of an instruction.
    #[inline]
    pub(crate) fn find(
        &mut self,
        several: &Several,
        pass: &Pass,
        of: impl FnMut(u64, &BlockInsn) -> (usize, Phase),
    ) -> Range<usize> {
        let key = pass.number() | (several.privilege as u64) << 40;
        let (known, parts) = &self.runs[key as usize & (RUNS - 1)];
        if *known == key && self.epoch == several.epoch {
            return parts.start as usize..parts.end as usize;
        }
        self.cut(several, pass, key, of)
    }

    /// One of the parts that were found.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Part {
        self.parts[at]
    }

    #[cold]
    fn cut(
        &mut self,
        several: &Several,
        pass: &Pass,
        key: u64,
        mut of: impl FnMut(u64, &BlockInsn) -> (usize, Phase),
    ) -> Range<usize> {
        if self.epoch != several.epoch || self.parts.len() > MOST {
            self.epoch = several.epoch;
            self.runs.fill((NOTHING, 0..0));
            self.parts.clear();
        }
        let first = self.parts.len();
        for (op, place) in several.insns(pass).iter().zip(pass.start()..) {
            let pc = several.outside(op.pc);
            let (function, phase) = of(pc, op);
            let fits = |last: &Part| {
                (last.function, last.phase) == (function, phase) && matches!(last.leave, Leave::Next)
            };
            if !self.parts[first..].last().is_some_and(fits) {
                let leave = Leave::Next;
                let (end, instructions, accesses, operands) = (place, 0, 0, 0);
                self.parts.push(Part { pc, end, phase, function, instructions, accesses, operands, leave });
            }
            let Some(part) = self.parts.last_mut() else { break };
            let class = op.insn.row().class;
            part.end = place + 1;
            part.instructions += 1;
            part.accesses +=
                usize::from(matches!(class, Class::Load | Class::Store | Class::FpLoad | Class::FpStore));
            part.operands += usize::from(op.insn.op.by_operands());
            part.leave = Leave::of(&op.insn, pc);
        }
        let parts = first..self.parts.len();
        self.runs[key as usize & (RUNS - 1)] = (key, first as u32..parts.end as u32);
        parts
    }
}
