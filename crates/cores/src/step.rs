//! What the models of pipes are given of an instruction.

use tollgate_riscv::Insn;
use tollgate_riscv::Privilege;
use tollgate_riscv::{BlockInsn, Pass, Retired, Several};

/// An instruction on its way into the model.
pub(super) struct Step<'a> {
    pub(super) pc: u64,
    pub(super) pa: u64,
    pub(super) next_pc: u64,
    pub(super) insn: &'a Insn,
    pub(super) privilege: Privilege,
    pub(super) phase: u8,
    /// What [`Retired`](crate::Retired) has under these names.
    pub(super) operands: [u64; 2],
    pub(super) taken: bool,
}

impl<'a> Step<'a> {
    /// An instruction that the machine executed by itself.
    #[inline(always)]
    pub(super) fn of(retired: &'a Retired, phase: u8) -> Self {
        Step {
            pc: retired.pc,
            pa: retired.pa,
            next_pc: retired.next_pc,
            insn: &retired.insn,
            privilege: retired.privilege,
            phase,
            operands: retired.operands,
            taken: retired.taken,
        }
    }

    /// Whether it begins in one word of four bytes and ends in the next.
    pub(super) fn crosses(&self) -> bool {
        self.insn.len == 4 && self.pc & 2 != 0
    }

    /// The last instruction of a run, without its operands.
    pub(super) fn last(several: &'a Several, pass: &Pass) -> Self {
        let place = pass.end().saturating_sub(1);
        Step::in_block(several, pass, place, &several.insns[usize::from(place)], [0; 2])
    }

    /// An instruction of a block, at that place.
    pub(super) fn in_block(
        several: &Several,
        pass: &Pass,
        place: u16,
        op: &'a BlockInsn,
        operands: [u64; 2],
    ) -> Self {
        Step {
            pc: several.outside(op.pc),
            pa: physical(op),
            next_pc: several.next_pc(pass, place),
            insn: &op.insn,
            privilege: several.privilege,
            phase: several.privilege as u8,
            operands,
            taken: pass.taken() && place + 1 == pass.end(),
        }
    }
}

/// The physical address of an instruction in a block.
pub(super) fn physical(op: &BlockInsn) -> u64 {
    u64::from(op.page) << 12 | op.pc & 0xfff
}
