//! Building superblocks.

use crate::bus::Bus;
use crate::engine::{ARENA, Arena, Code, FP_ON, Meta, MicroOp, PADS, fold};
use crate::fp::Rounding;
use crate::insn::{Class, Insn, Op};
use crate::jump::Jump;
use crate::log::LONGEST_BLOCK;
use crate::machine::Machine;
use crate::mmu::PAGE;
use crate::tier;
use crate::vector::is_vector;

/// A placeholder for ops that do not belong to an instruction.
const NO_INSN: Insn = Insn { op: Op::Fence, rd: 0, rs1: 0, rs2: 0, rs3: 0, rm: 0, len: 4, imm: 0 };

/// The scratch register that takes what is written to `x0`.
const DISCARD: u8 = 32;

/// Collects the ops of one block. There are never more ops than places of instructions, so one number says where
/// both begin.
struct Builder<'a> {
    arena: &'a mut Arena,
    start: usize,
    /// Where the next op goes.
    next: usize,
    /// Where the next instruction goes.
    place: usize,
    precise: bool,
}

impl Builder<'_> {
    /// Another instruction, to which the ops that are pushed from now on belong.
    fn begin(&mut self, meta: Meta) {
        self.arena.meta[self.place] = meta;
        self.arena.links[self.place] = 0;
        self.place += 1;
    }

    fn push(&mut self, op: MicroOp) {
        self.arena.ops[self.next] = MicroOp { place: (self.place - 1) as u16, ..op };
        self.next += 1;
    }

    /// A constant into a register.
    fn constant(&mut self, rd: u8, value: u64) {
        if rd == DISCARD && !self.precise {
            return;
        }
        self.push(MicroOp { code: Code::Constant, rd, imm: value, ..MicroOp::NOTHING });
    }

    /// The last op, when it is a constant for `register` that the next op may absorb.
    fn last_constant(&self, register: u8) -> Option<u64> {
        let last = self.arena.ops[self.next.checked_sub(1).filter(|&i| i >= self.start)?];
        (!self.precise && last.code == Code::Constant && last.rd == register).then_some(last.imm)
    }

    /// How far the last op shifts to the left, when `insn` shifts that back and no observer sees the value in between.
    fn last_shift(&self, insn: &Insn) -> Option<(u64, u8)> {
        let last = self.arena.ops[self.next.checked_sub(1).filter(|&i| i >= self.start)?];
        let pair =
            last.code == Code::Slli && insn.op == Op::Srli && last.rd == insn.rs1 && insn.rd == insn.rs1;
        (!self.precise && pair).then_some((last.imm, last.rs1))
    }

    /// Ends the block: execution continues at `pc`.
    fn leave(&mut self, pc: u64, same_page: bool) {
        let code = if same_page { Code::Goto } else { Code::Away };
        self.begin(Meta { pc, insn: NO_INSN, word: 0, page: 0 });
        self.push(MicroOp { code, imm: pc, ..MicroOp::NOTHING });
    }
}

/// The bits of the instruction at `pc`, which is in the page at the physical address `page`, and whether it is in two pages.
pub(super) fn word_in_page(bus: &Bus, page: u64, pc: u64) -> (u32, bool) {
    let offset = pc & (PAGE - 1);
    let size = if offset == PAGE - 2 { 2 } else { 4 };
    let word = bus.ram_read(page + offset, size).unwrap_or(0) as u32;
    let word = if word & 3 == 3 { word } else { word & 0xffff };
    (word, word & 3 == 3 && size == 2)
}

impl Machine {
    /// Builds the block at `pc`, whose page is at the physical address `page`; yields where it begins and ends.
    pub(super) fn build_block(&mut self, pc: u64, page: u64, fp: u8) -> (u16, u16) {
        if self.engine.used + LONGEST_BLOCK as usize + 2 > ARENA {
            // The arena is full. Contexts keep their TLBs, and translations without places stay, but every jump entry and link is void.
            let contexts = self.engine.contexts;
            self.engine.drop_blocks();
            if let Some(arena) = &mut self.engine.arena {
                arena.jumps.fill(Jump::NOWHERE);
            }
            self.engine.contexts = contexts;
        }
        let start = self.engine.used;
        let arena = self.engine.arena.get_or_insert_with(|| Box::new(Arena::new()));
        // Room for this block.
        let room = start + LONGEST_BLOCK as usize + 2;
        if arena.meta.len() < room {
            arena.meta.resize(room + 4096, Meta { pc: 0, insn: NO_INSN, word: 0, page: 0 });
        }
        let mut b = Builder { arena, start, next: start, place: start, precise: self.engine.precise };
        let target_mask = self.hart.target_mask();
        let va_page = pc & !(PAGE - 1);
        let mut pc = pc;
        loop {
            let same_page = pc & !(PAGE - 1) == va_page;
            if b.place - start >= LONGEST_BLOCK as usize || !same_page {
                b.leave(pc, same_page);
                break;
            }
            let (word, crosses) = word_in_page(&self.bus, page, pc);
            let decoded = (!crosses).then(|| b.arena.decoded.decode(&self.decoder, word));
            let Some(insn) = decoded.flatten() else {
                // Illegal, or in two pages: the reference interpreter fetches it again.
                b.begin(Meta { pc, insn: NO_INSN, word, page: 0 });
                b.push(MicroOp::NOTHING);
                break;
            };
            let next = self.hart.canonical(pc.wrapping_add(u64::from(insn.len)));
            let target = self.hart.canonical(pc.wrapping_add(insn.imm as u64));
            let meta = Meta { pc, insn, word, page: (page >> 12) as u32 };
            let step = MicroOp { code: Code::Step, ..MicroOp::NOTHING };
            let rd = if insn.rd == 0 { DISCARD } else { insn.rd };
            let plain = |code: Code, rd: u8| MicroOp {
                code,
                rd,
                rs1: insn.rs1,
                rs2: insn.rs2,
                rs3: insn.rs3,
                imm: insn.imm as u64,
                ..MicroOp::NOTHING
            };
            b.begin(meta);
            match insn.row().class {
                Class::Upper => b.constant(rd, fold(insn.op, pc, insn.imm as u64)),
                Class::AluImm => match b.last_constant(insn.rs1) {
                    // A constant and an operation on it are a constant, if no observer sees the first one.
                    Some(value) if rd == insn.rs1 => {
                        b.next -= 1;
                        b.constant(rd, fold(insn.op, value, insn.imm as u64));
                    }
                    _ if insn.rs1 == 0 => b.constant(rd, fold(insn.op, 0, insn.imm as u64)),
                    _ => match b.last_shift(&insn) {
                        // `zext.w` and the like: a shift there and one back.
                        Some((left, rs1)) => {
                            b.next -= 1;
                            let imm = left & 63 | (insn.imm as u64) << 8;
                            b.push(MicroOp { rs1, imm, ..plain(Code::Shifts, rd) });
                        }
                        None => b.push(plain(Code::of(insn.op), rd)),
                    },
                },
                Class::AluReg | Class::Load => b.push(plain(Code::of(insn.op), rd)),
                Class::Store => b.push(plain(Code::of(insn.op), 0)),
                Class::Nop => {
                    if b.precise {
                        b.push(MicroOp { code: Code::Nop, ..MicroOp::NOTHING });
                    }
                }
                // (Observers of blocks do not treat a branch to the next instruction as a jump.)
                Class::Branch if target & target_mask == 0 && target != next => {
                    b.push(MicroOp { imm: target, ..plain(Code::of(insn.op), 0) });
                }
                Class::Jump if target & target_mask == 0 => {
                    b.constant(rd, next);
                    pc = target;
                    continue;
                }
                Class::JumpReg if fp & PADS == 0 || matches!(insn.rs1, 1 | 5 | 7) => {
                    let [rs2, rs3] = (insn.imm as i16).to_le_bytes();
                    b.push(MicroOp { rs2, rs3, imm: next, ..plain(Code::of(insn.op), rd) });
                    break;
                }
                Class::FpLoad | Class::FpStore if fp & FP_ON != 0 => {
                    b.push(plain(Code::of(insn.op), insn.rd))
                }
                Class::FpFp | Class::FpInt | Class::IntFp if fp & FP_ON != 0 => {
                    match tier::rounding(&insn, fp & 7).and_then(Rounding::from_bits) {
                        Some(rounding) => {
                            let rd = if insn.row().class == Class::FpInt { rd } else { insn.rd };
                            b.push(MicroOp { rounding, ..plain(Code::of(insn.op), rd) });
                        }
                        None => {
                            b.push(step);
                            break;
                        }
                    }
                }
                _ if self.engine.vectors && is_vector(insn.op) => {
                    b.push(MicroOp { code: Code::Vector, ..MicroOp::NOTHING });
                }
                _ => {
                    b.push(step);
                    break;
                }
            }
            pc = next;
        }
        self.engine.used = b.place;
        (start as u16, b.place as u16)
    }
}
