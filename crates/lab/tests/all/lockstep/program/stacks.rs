//! Instructions that push and pop: several registers (Zcmp), and return addresses (Zicfiss).

use super::{ADDRESS, Program};
use tollgate_riscv::{Insn, Op, Operands};

impl Program<'_> {
    /// Pushes, pops and moves of registers; what bodies leave alone is put back.
    pub(super) fn registers(&mut self) {
        match self.below(3) {
            0 => {
                let op = self.rng.pick(&[Op::CmMva01s, Op::CmMvsa01]);
                let half =
                    Insn::encode(op, Operands { rd: 8, rs1: 18, rs2: 9, rs3: 19, ..Default::default() });
                self.a.half(half as u16).half(1);
            }
            _ => {
                if self.address(true) {
                    return;
                }
                // In the middle of a page: where another page traps, Spike has changed some registers.
                self.a.op(Op::Andi, 2, ADDRESS, 0, -1024).op(Op::Ori, 2, 2, 0, 0x200);
                // Lists up to s7, whose last register is below those.
                let rs3 = 4 + self.below(9) as u8;
                let imm = 16 * self.below(4) as i64;
                let rv64 = self.isa.is_rv64();
                let op =
                    self.rng.pick(if rv64 { &[Op::CmPush, Op::CmPop] } else { &[Op::CmPush32, Op::CmPop32] });
                let half = Insn::encode(op, Operands { rs3, imm, ..Default::default() });
                self.a.half(half as u16).half(1);
            }
        }
    }

    /// A push, a check or a swap on a shadow stack somewhere, perhaps with the right value.
    pub(super) fn shadow_stack(&mut self) {
        self.address(true);
        self.a.csrw(0x011, ADDRESS).csrr(23, 0x011);
        for _ in 0..2 {
            match self.below(5) {
                0 => self.a.op(Op::Sspush, 0, 0, 1, 0),
                1 => self.a.half(0x6081).half(1).half(0x6281).half(1),
                2 => self.a.op(Op::Sspopchk, 0, 1, 0, 0),
                3 => self.a.op(Op::Ssrdp, 21, 0, 0, 0),
                _ => self.a.op(Op::SsamoswapW, 21, ADDRESS, 5, 0),
            };
        }
        self.a.csrr(23, 0x011);
    }
}
