//! Instructions of decoded code in one phase, one after the other.

use std::ops::Range;

use tollgate_riscv::{BlockInsn, Class, Pass, Several, Touch};

use super::Described;
use crate::access::Data;
use crate::account::Account;
use crate::ledger::Cause;
use crate::microarchitecture::{Here, Microarchitecture, Passed, Step};
use crate::slot::Slot;

/// A batch of them, and what is left of its accesses and operands. Charges are added up in a slot.
pub(super) struct Batch<'a> {
    pub(super) several: &'a Several<'a>,
    pub(super) phase: u8,
    pub(super) account: &'a mut Account,
    pub(super) accesses: &'a [Touch],
    pub(super) operands: &'a [[u64; 2]],
    /// Instructions that took one cycle each and are not charged yet.
    pub(super) issued: u64,
}

/// How instructions have passed.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassedAll {
    /// Whether all of them took the quick way.
    pub(super) quick: bool,
    /// Whether the last one is a jump that did, and is still to be resolved.
    pub(super) jumps: bool,
    /// What the first one waited for the redirected fetch.
    pub(super) refill: Option<(Cause, u64)>,
}

/// The first elements of a slice, which are taken from it.
#[inline(always)]
pub(super) fn take<'a, T>(from: &mut &'a [T], count: usize) -> &'a [T] {
    let (taken, left) = from.split_at_checked(count).unwrap_or_default();
    *from = left;
    taken
}

impl<'a> Batch<'a> {
    pub(super) fn new(several: &'a Several<'a>, phase: u8, account: &'a mut Account) -> Self {
        let &Several { accesses, operands, .. } = several;
        Batch { several, phase, account, accesses, operands, issued: 0 }
    }

    /// Instructions of a run. Only the last one of them may be a jump that takes the quick way, which is not resolved.
    #[inline(always)]
    pub(super) fn pass<C: Microarchitecture>(
        &mut self,
        core: &mut C,
        ops: &[Described<C::Op>],
        (pass, places): (&Pass, Range<usize>),
        slot: &mut Slot,
    ) -> PassedAll {
        let several = self.several;
        let goes_on = places.start != usize::from(pass.start());
        let ops = ops.get(places.clone()).unwrap_or_default();
        let insns = several.insns.get(places.start..pass.end().into()).unwrap_or_default();
        let mut all = PassedAll { quick: true, jumps: false, refill: None };
        let mut refill_phase = self.account.refill_phase;
        for (i, (at, described)) in insns.iter().zip(ops).enumerate() {
            let mut operands = [0; 2];
            if described.by_operands {
                operands = take(&mut self.operands, 1).first().copied().unwrap_or_default();
            }
            let touch = take(&mut self.accesses, usize::from(described.size > 0)).first();
            let same_line = described.same_line && (i > 0 || goes_on);
            let here = Here { several, at, same_line, touch, operands };
            let passed = core.passes(&described.op, &here, slot);
            all.jumps = passed == Passed::ButJumps;
            if passed == Passed::No {
                all.quick = false;
                let step = Step { operands, ..step_of(several, pass, at, insns.get(i + 1), &described.op) };
                // Two calls, so that the compiler knows in each how many accesses there are.
                if let Some(touch) = touch {
                    let Described { size, store, .. } = *described;
                    let access = Data { va: several.outside(touch.va), pa: touch.pa(), size, store };
                    core.retire(&step, std::slice::from_ref(&access), slot);
                } else {
                    core.retire(&step, &[], slot);
                }
            }
            if slot.lost {
                slot.lost = false;
                self.account.refill(refill_phase, self.phase, slot);
                all.refill = all.refill.or(slot.refill);
            } else {
                self.issued += 1;
            }
            refill_phase = self.phase;
        }
        self.account.refill_phase = refill_phase;
        all
    }
}

/// An instruction of a run that retired; `next` is the one behind it in the run.
#[inline(always)]
pub(super) fn step_of<'a, O>(
    several: &Several,
    pass: &Pass,
    at: &'a BlockInsn,
    next: Option<&BlockInsn>,
    op: &'a O,
) -> Step<'a, O> {
    Step {
        pc: several.outside(at.pc),
        pa: crate::microarchitecture::physical(at),
        next_pc: several.outside(next.map_or_else(|| next_of_last(pass, at), |next| next.pc)),
        insn: &at.insn,
        op,
        privilege: several.privilege,
        operands: [0; 2],
        taken: next.is_none() && pass.taken(),
    }
}

/// Where the last instruction of a run went.
#[inline(always)]
fn next_of_last(pass: &Pass, last: &BlockInsn) -> u64 {
    match last.insn.row().class {
        Class::JumpReg => pass.target,
        Class::Jump => last.pc.wrapping_add(last.insn.imm as u64),
        Class::Branch if pass.taken() => last.pc.wrapping_add(last.insn.imm as u64),
        _ => last.pc.wrapping_add(u64::from(last.insn.len)),
    }
}
