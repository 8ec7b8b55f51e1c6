//! What each run of instructions consists of: its parts by function and step.

use std::ops::Range;

use tollgate_riscv::{BlockInsn, Class, Insn, Op, Pass, Privilege, Several};

use super::{MARK, Watch};
use crate::calls::Leave;
use crate::exec::code::Place;
use crate::exec::crossing::Step;
use crate::exec::task::{MOST_PARTS, NOTHING, Part, RUNS};
use crate::phase::Phase;

impl Watch {
    /// The parts of a run.
    #[inline]
    pub(super) fn find(&mut self, several: &Several, pass: &Pass) -> Range<usize> {
        let key = pass.number() | (several.privilege as u64) << 40;
        let (known, parts) = &self.runs[key as usize & (RUNS - 1)];
        if *known == key && self.epoch == several.epoch {
            return parts.start as usize..parts.end as usize;
        }
        self.cut(several, pass, key)
    }

    #[cold]
    pub(super) fn cut(&mut self, several: &Several, pass: &Pass, key: u64) -> Range<usize> {
        if self.epoch != several.epoch || self.parts.len() > MOST_PARTS {
            self.epoch = several.epoch;
            self.runs.fill((NOTHING, 0..0));
            self.parts.clear();
        }
        let first = self.parts.len();
        for (op, at) in several.insns(pass).iter().zip(pass.start()..) {
            let BlockInsn { insn, page, .. } = op;
            let pc = several.outside(op.pc);
            let (place, step, mark) = self.of(pc, u64::from(*page), insn, several.privilege);
            let fits = |last: &Part| {
                (last.place.function, last.step) == (place.function, step)
                    && matches!(last.leave, Leave::Next)
                    && !last.mark
                    && !place.entry
            };
            if !self.parts[first..].last().is_some_and(fits) {
                self.parts.push(Part {
                    pc,
                    end: at,
                    step,
                    place,
                    mark: false,
                    instructions: 0,
                    accesses: 0,
                    operands: 0,
                    leave: Leave::Next,
                    charged: (u32::MAX, Step::Inherit, 0),
                });
            }
            let Some(part) = self.parts.last_mut() else { break };
            let class = insn.row().class;
            part.end = at + 1;
            part.instructions += 1;
            part.accesses +=
                usize::from(matches!(class, Class::Load | Class::Store | Class::FpLoad | Class::FpStore));
            part.operands += usize::from(insn.op.by_operands());
            part.leave = Leave::of(insn, pc);
            part.mark = mark;
        }
        let parts = first..self.parts.len();
        self.runs[key as usize & (RUNS - 1)] = (key, first as u32..parts.end as u32);
        parts
    }

    /// The place and the step of an instruction, and whether it is the mark.
    pub(super) fn of(
        &mut self,
        pc: u64,
        page: u64,
        insn: &Insn,
        privilege: Privilege,
    ) -> (Place, Step, bool) {
        if privilege == Privilege::User {
            let place = self.code.user(pc, page);
            let mark = insn.op == Op::Slti && insn.rd == 0 && insn.rs1 == 0 && insn.imm == MARK;
            return (place, Step::Own, mark && self.init.is_some() && place.file == self.init);
        }
        if let Some(&(place, step)) = self.looked_up.get(&pc) {
            return (place, step, false);
        }
        let place = self.code.kernel(pc);
        let name = self.code.name(place.function).strip_prefix("kernel:").unwrap_or_default();
        let step = match self.rules.as_ref().and_then(|rules| rules.phase(name, insn)) {
            None => Step::Inherit,
            Some(Phase::HardwareTrap | Phase::StackSwitch | Phase::Save) => Step::Entry,
            Some(Phase::Dispatch) => Step::Dispatch,
            Some(Phase::Restore | Phase::Return) => Step::Exit,
            Some(Phase::Schedule | Phase::Switch | Phase::Space) => Step::Switch,
            Some(_) => Step::Work,
        };
        self.looked_up.insert(pc, (place, step));
        (place, step, false)
    }
}
