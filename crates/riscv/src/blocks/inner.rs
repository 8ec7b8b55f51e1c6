//! The inner loop over the ops of superblocks.
//!
//! Each row of the instruction table has one line in [`Inner::ops`]: the method that does its group, with the row's value as a
//! closure. To change how a group is done, change its method; a new group needs a method and a line.
//!
//! All methods are inlined there, so that the compiler keeps the fields of [`Inner`] in registers of the host. What is rare
//! leaves the loop with a [`Leave`], by `?`.

use crate::alu::{div, div32, divu32, rem, rem32, remu32, sext32};
use crate::csr::FFLAGS;
use crate::engine::{ARENA, Code, Meta, MicroOp, NO_TAG, called, tlb_index};
use crate::fp::{Compare, F32, F64, Fpu, NAN_BOX, classify, sign_inject};
use crate::insn::Op;
use crate::jump::{JUMP_ENTRIES, Jump, jump_index};
use crate::log::{LOG, Log, ROOM};
use crate::mmu::PAGE;
use crate::observer::{Access, AccessKind, Observer, Pass, Retired, Several, Touch};
use crate::privilege::Privilege;
use crate::table::instruction_table;
use crate::tier::Tlb;
use crate::vector::{Left, Memory, Vectors};
use std::convert::Infallible;

/// Why the inner loop was left; the instruction that it was left at did nothing yet.
pub(super) enum Leave {
    /// At an instruction for the reference interpreter.
    Step { place: u16 },
    /// At one whose address is in no TLB entry.
    Miss { resume: Entry, va: u64, size: u64, store: bool },
    /// After one that jumps to an address without a known block.
    Unlinked { from: u16, to: u64 },
    /// At an indirect jump to an address without a known block.
    Indirect { op: MicroOp, to: u64 },
    /// Before an instruction that has to be fetched again.
    Fetch(u64),
    /// The limit is reached.
    Limit(u64),
}

/// Where the inner loop begins: an op, and the place of the instruction that is next. (Instructions that need no op
/// may come before that of the op.)
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) op: u16,
    pub(super) place: u16,
}

/// The state of the inner loop.
pub(super) struct Inner<'a, O> {
    pub(super) x: &'a mut [u64; 256],
    pub(super) f: &'a mut [u64; 256],
    pub(super) fflags: &'a mut u8,
    pub(super) ram: &'a mut [u8],
    pub(super) ram_base: u64,
    // References to the arrays: each op would follow the arena's boxes again.
    pub(super) ops: &'a [MicroOp; ARENA],
    pub(super) links: &'a mut [u16; ARENA],
    pub(super) meta: &'a [Meta],
    pub(super) jumps: &'a [Jump; JUMP_ENTRIES],
    pub(super) loads: &'a Tlb,
    pub(super) stores: &'a Tlb,
    /// The vector state, if VS is Dirty and nobody observes. (Behind a reference: what is passed on must not have its address in here, or
    /// the compiler cannot take this apart.)
    pub(super) vectors: Option<&'a mut Vectors<'a>>,
    pub(super) context: u32,
    /// For observers: the mode, whether registers have 32 bits, and how often blocks were dropped.
    pub(super) privilege: Privilege,
    pub(super) rv32: bool,
    pub(super) epoch: u64,
    /// Instructions retired before this run of the machine.
    pub(super) retired: u64,
    /// Those of this run that retired in blocks that were left. It is updated at each jump, where the limit is checked.
    pub(super) n: u64,
    /// As many of them are enough.
    pub(super) limit: u64,
    /// When to check the limit, and to report to the observer.
    pub(super) soon: u64,
    /// The op that is next.
    pub(super) at: u16,
    /// The place of the first instruction that is not in `n` and that was not reported to the observer.
    pub(super) from: usize,
    pub(super) log: Log<'a>,
    /// Whether the observer wants operands.
    pub(super) notes_operands: bool,
    /// Instructions retired before the first of the log's.
    pub(super) base: u64,
    pub(super) obs: &'a mut O,
}

/// The place of the op's instruction.
#[inline(always)]
fn place(op: &MicroOp) -> usize {
    usize::from(op.place)
}

/// When to check: at the limit, or when the log of an observer of blocks may be full.
#[inline(always)]
pub(super) fn soon<O: Observer>(n: u64, limit: u64) -> u64 {
    if O::BLOCKS { limit.min(n + ROOM) } else { limit }
}

/// Reports the recorded instructions to an observer of blocks. (Outside the inner loop, so that it does not have to
/// save and restore registers.)
#[inline(never)]
fn tell<O: Observer>(obs: &mut O, several: &Several) {
    obs.several(several);
}

impl<O: Observer> Inner<'_, O> {
    /// Runs ops until one leaves; `count` becomes the number of instructions that have retired.
    #[inline(always)]
    pub(super) fn run(mut self, count: &mut u64) -> Leave {
        let Err(leave) = self.ops();
        self.tell();
        *count = self.n;
        leave
    }

    #[inline(always)]
    fn ops(&mut self) -> Result<Infallible, Leave> {
        /// The method of an op of a row of the table, by the row's group.
        macro_rules! row {
            ($o:ident $op:ident AluImm $value:expr) => {
                self.alu_imm($o, $value)
            };
            ($o:ident $op:ident AluReg $value:expr) => {
                self.alu_reg($o, Op::$op.by_operands(), $value)
            };
            ($o:ident $op:ident Load $size:literal $value:expr) => {
                self.load::<$size>($o, $value)?
            };
            ($o:ident $op:ident Store $size:literal) => {
                self.store::<$size>($o, self.x[usize::from($o.rs2)])?
            };
            ($o:ident $op:ident Branch $taken:expr) => {
                self.branch($o, $taken)?
            };
            ($o:ident $op:ident JumpReg) => {
                self.jump_reg($o)?
            };
            ($o:ident $op:ident FpLoad $size:literal $value:expr) => {
                self.fp_load::<$size>($o, $value)?
            };
            ($o:ident $op:ident FpStore $size:literal) => {
                self.store::<$size>($o, self.f[usize::from($o.rs2)])?
            };
            ($o:ident $op:ident FpFp $value:expr) => {
                self.fp_fp($o, Op::$op.by_operands(), $value)
            };
            ($o:ident $op:ident FpInt $value:expr) => {
                self.fp_int($o, $value)
            };
            ($o:ident $op:ident IntFp $value:expr) => {
                self.int_fp($o, $value)
            };
        }
        let ops = self.ops;
        loop {
            let op = &ops[usize::from(self.at)];
            // It does not wrap: each block ends with an op that leaves it.
            self.at = self.at.wrapping_add(1);
            macro_rules! execute {
                (
                    folded { $($folded:tt)* }
                    in_blocks { $($class:ident { $($op:ident $m:literal $w:ident $e:ident $f:ident $b:literal $($size:literal)? $($call:ident)? $(|$($arg:ident),+| $x:expr)?;)* })* }
                    called { $($called:tt)* }
                    stepped { $($stepped:tt)* }
                ) => {
                    match op.code {
                        $($(Code::$op => row!(op $op $class $($size)? $(|$($arg),+| $x)?),)*)*
                        Code::Constant => self.write(op, op.imm),
                        Code::Shifts => self.alu_imm(op, |a, b| a << (b & 63) >> (b >> 8 & 63)),
                        Code::Called => {
                            let insn = self.meta[place(op)].insn.op;
                            self.alu_reg(op, false, |a, b| called(insn, a, b));
                        }
                        Code::CalledImm => {
                            let insn = self.meta[place(op)].insn.op;
                            self.alu_imm(op, |a, b| called(insn, a, b));
                        }
                        Code::Vector => self.vector(op)?,
                        Code::Nop => self.retire(op, None, 0, [0; 2], false),
                        Code::Goto => self.goto(op)?,
                        Code::Away => self.away(op)?,
                        Code::Step => return Err(self.before(op, Leave::Step { place: op.place })),
                        Code::Fetch => return Err(self.before(op, Leave::Fetch(self.meta[place(op)].pc))),
                    }
                };
            }
            instruction_table!(execute);
        }
    }

    // The groups of the table.

    #[inline(always)]
    fn alu_imm(&mut self, op: &MicroOp, value: impl FnOnce(u64, u64) -> u64) {
        self.write(op, value(self.x[usize::from(op.rs1)], op.imm));
    }

    /// `by_operands`: whether observers may want to know them.
    #[inline(always)]
    fn alu_reg(&mut self, op: &MicroOp, by_operands: bool, value: impl FnOnce(u64, u64) -> u64) {
        let (a, b) = (self.x[usize::from(op.rs1)], self.x[usize::from(op.rs2)]);
        let operands = if by_operands { [self.outside(a), self.outside(b)] } else { [0; 2] };
        self.note_operands(by_operands, operands);
        let value = value(a, b);
        self.set_x(op, value);
        self.retire(op, None, self.seen(op, value), operands, false);
    }

    #[inline(always)]
    fn load<const SIZE: usize>(&mut self, op: &MicroOp, value: impl FnOnce(u64) -> u64) -> Result<(), Leave> {
        let read = self.read::<SIZE>(op)?;
        self.write(op, value(read));
        Ok(())
    }

    #[inline(always)]
    fn store<const SIZE: usize>(&mut self, op: &MicroOp, value: u64) -> Result<(), Leave> {
        let (va, index) = self.find::<SIZE>(op, true)?;
        let Some(bytes) = self.ram.as_chunks_mut::<SIZE>().0.get_mut((index / SIZE as u64) as usize) else {
            return Err(self.before(op, Leave::Step { place: op.place }));
        };
        bytes.copy_from_slice(&value.to_le_bytes()[..SIZE]);
        let value = if SIZE == 8 { value } else { value & ((1 << (SIZE % 8 * 8)) - 1) };
        self.access::<SIZE>(va, index, true, value);
        self.retire(op, None, 0, [0; 2], false);
        Ok(())
    }

    #[inline(always)]
    fn branch(&mut self, op: &MicroOp, taken: impl FnOnce(u64, u64) -> bool) -> Result<(), Leave> {
        if !taken(self.x[usize::from(op.rs1)], self.x[usize::from(op.rs2)]) {
            self.retire(op, None, 0, [0; 2], false);
            return Ok(());
        }
        self.retire(op, Some(op.imm), 0, [0; 2], true);
        self.passed(true, place(op) + 1, 0, true);
        self.jump(op)
    }

    #[inline(always)]
    fn jump_reg(&mut self, op: &MicroOp) -> Result<(), Leave> {
        let to = self.x[usize::from(op.rs1)].wrapping_add(op.offset()) & !1;
        let entry = &self.jumps[jump_index(to)];
        if entry.pc != to || entry.context != self.context {
            return Err(self.before(op, Leave::Indirect { op: *op, to }));
        }
        self.set_x(op, op.imm);
        self.retire(op, Some(to), self.seen(op, op.imm), [0; 2], false);
        self.passed(true, place(op) + 1, to, to != op.imm);
        self.check(to)?;
        self.go(entry.start);
        Ok(())
    }

    #[inline(always)]
    fn fp_load<const SIZE: usize>(
        &mut self,
        op: &MicroOp,
        value: impl FnOnce(u64) -> u64,
    ) -> Result<(), Leave> {
        let value = value(self.read::<SIZE>(op)?);
        self.write_fp(op, value, [0; 2]);
        Ok(())
    }

    #[inline(always)]
    fn fp_fp(&mut self, op: &MicroOp, by_operands: bool, value: impl FnOnce(&mut Fpu, u64, u64, u64) -> u64) {
        let [a, b, c] = [op.rs1, op.rs2, op.rs3].map(|register| self.f[usize::from(register)]);
        let operands = if by_operands { [a, b] } else { [0; 2] };
        self.note_operands(by_operands, operands);
        let value = self.with_fpu(op, |fpu| value(fpu, a, b, c));
        self.write_fp(op, value, operands);
    }

    #[inline(always)]
    fn fp_int(&mut self, op: &MicroOp, value: impl FnOnce(&mut Fpu, u64, u64) -> u64) {
        let (a, b) = (self.f[usize::from(op.rs1)], self.f[usize::from(op.rs2)]);
        let value = self.with_fpu(op, |fpu| value(fpu, a, b));
        self.write(op, value);
    }

    #[inline(always)]
    fn int_fp(&mut self, op: &MicroOp, value: impl FnOnce(&mut Fpu, u64) -> u64) {
        let a = self.x[usize::from(op.rs1)];
        let value = self.with_fpu(op, |fpu| value(fpu, a));
        self.write_fp(op, value, [0; 2]);
    }

    #[inline(always)]
    fn vector(&mut self, op: &MicroOp) -> Result<(), Leave> {
        let left = match &mut self.vectors {
            Some(vectors) => {
                let memory = Memory { ram: self.ram, loads: self.loads, stores: self.stores };
                let insn = &self.meta[place(op)].insn;
                match vectors.execute(insn, [self.x, self.f], self.fflags, memory) {
                    Ok(()) => return Ok(()),
                    Err(left) => left,
                }
            }
            None => Left::Step,
        };
        let leave = match left {
            Left::Step => Leave::Step { place: op.place },
            Left::Miss { va, size, store } => {
                let resume = Entry { op: self.at.wrapping_sub(1), place: op.place };
                Leave::Miss { resume, va, size, store }
            }
        };
        Err(self.before(op, leave))
    }

    /// On to another block in the page; its own address is where it goes.
    #[inline(always)]
    fn goto(&mut self, op: &MicroOp) -> Result<(), Leave> {
        self.passed(self.from < place(op), place(op), 0, false);
        self.jump(op)
    }

    /// On to another page.
    #[inline(always)]
    fn away(&mut self, op: &MicroOp) -> Result<(), Leave> {
        self.passed(self.from < place(op), place(op), 0, false);
        self.check(op.imm)?;
        let entry = &self.jumps[jump_index(op.imm)];
        if entry.pc != op.imm || entry.context != self.context {
            // No instruction has place 0: nothing is linked.
            return Err(Leave::Unlinked { from: 0, to: op.imm });
        }
        self.go(entry.start);
        Ok(())
    }

    // Values.

    /// A value as it is outside of the engine.
    #[inline(always)]
    fn outside(&self, value: u64) -> u64 {
        if self.rv32 { u64::from(value as u32) } else { value }
    }

    /// A value as an observer sees it in the destination; 0 if that is `x0`.
    #[inline(always)]
    fn seen(&self, op: &MicroOp, value: u64) -> u64 {
        if op.rd < 32 { self.outside(value) } else { 0 }
    }

    #[inline(always)]
    fn set_x(&mut self, op: &MicroOp, value: u64) {
        debug_assert!(!self.rv32 || value as i32 as u64 == value, "x{} receives {value:#x}", op.rd);
        self.x[usize::from(op.rd)] = value;
    }

    #[inline(always)]
    fn write(&mut self, op: &MicroOp, value: u64) {
        self.set_x(op, value);
        self.retire(op, None, self.seen(op, value), [0; 2], false);
    }

    #[inline(always)]
    fn write_fp(&mut self, op: &MicroOp, value: u64, operands: [u64; 2]) {
        self.f[usize::from(op.rd)] = value;
        self.retire(op, None, value, operands, false);
    }

    #[inline(always)]
    fn with_fpu(&mut self, op: &MicroOp, value: impl FnOnce(&mut Fpu) -> u64) -> u64 {
        // An observer of registers needs to know what this instruction raises; the host's arithmetic is right more often if a flag
        // is raised already.
        let mut fpu = Fpu { rounding: op.rounding, flags: if O::CSR { 0 } else { *self.fflags } };
        let value = value(&mut fpu);
        if O::CSR && fpu.flags != 0 {
            fpu.flags |= *self.fflags;
            self.obs.csr(FFLAGS, u64::from(fpu.flags));
        }
        if !O::CSR || fpu.flags != 0 {
            *self.fflags = fpu.flags;
        }
        value
    }

    // Memory.

    /// The address of an access and its index in RAM, if its page is in the TLB.
    #[inline(always)]
    fn find<const SIZE: usize>(&mut self, op: &MicroOp, store: bool) -> Result<(u64, u64), Leave> {
        let (va, size) = (self.x[usize::from(op.rs1)].wrapping_add(op.imm), SIZE as u64);
        let entry = &(if store { self.stores } else { self.loads })[tlb_index(va)];
        if entry.tag != va & !(PAGE - 1) | va & (size - 1) {
            let resume = Entry { op: self.at.wrapping_sub(1), place: op.place };
            return Err(self.before(op, Leave::Miss { resume, va, size, store }));
        }
        Ok((va, va.wrapping_add(entry.addend)))
    }

    #[inline(always)]
    fn read<const SIZE: usize>(&mut self, op: &MicroOp) -> Result<u64, Leave> {
        let (va, index) = self.find::<SIZE>(op, false)?;
        let Some(bytes) = self.ram.as_chunks::<SIZE>().0.get((index / SIZE as u64) as usize) else {
            return Err(self.before(op, Leave::Step { place: op.place }));
        };
        let mut buffer = [0; 8];
        buffer[..SIZE].copy_from_slice(bytes);
        let value = u64::from_le_bytes(buffer);
        self.access::<SIZE>(va, index, false, value);
        Ok(value)
    }

    // Where it goes.

    /// On with the block there.
    #[inline(always)]
    fn go(&mut self, to: u16) {
        self.at = to;
        self.from = usize::from(to);
    }

    /// Goes to where a jump leads, by its link, else by the table.
    #[inline(always)]
    fn jump(&mut self, op: &MicroOp) -> Result<(), Leave> {
        let to = op.imm;
        let link = self.links[place(op)];
        self.check(to)?;
        if link != 0 {
            self.go(link);
            return Ok(());
        }
        let entry = &self.jumps[jump_index(to)];
        if entry.pc != to || entry.context != self.context {
            return Err(Leave::Unlinked { from: op.place, to });
        }
        if (self.meta[place(op)].pc ^ to) & !(PAGE - 1) == 0 {
            self.links[place(op)] = entry.start;
        }
        self.go(entry.start);
        Ok(())
    }

    /// Leaves when enough has been done.
    #[inline(always)]
    fn check(&mut self, to: u64) -> Result<(), Leave> {
        if self.n > self.soon {
            if self.n > self.limit {
                return Err(Leave::Limit(to));
            }
            self.tell();
            (self.log.noted, self.log.accessed, self.log.operated) = (0, 0, 0);
            self.base = self.retired.wrapping_add(self.n);
            self.soon = soon::<O>(self.n, self.limit);
        }
        Ok(())
    }

    /// Leaves before the op.
    #[inline(always)]
    fn before(&mut self, op: &MicroOp, leave: Leave) -> Leave {
        self.passed(self.from < place(op), place(op), 0, false);
        leave
    }

    // Observers.

    /// Counts the instructions up to the place `end`, and records for the observer that they retired, if there are `some`.
    #[inline(always)]
    fn passed(&mut self, some: bool, end: usize, target: u64, taken: bool) {
        if O::BLOCKS && some {
            self.log.passes[self.log.noted % LOG] = Pass::new(self.from as u16, end as u16, taken, target);
            self.log.noted += 1;
        }
        self.n += (end - self.from) as u64;
    }

    #[inline(always)]
    fn note_operands(&mut self, by_operands: bool, operands: [u64; 2]) {
        if by_operands && self.notes_operands {
            self.log.operands[self.log.operated % LOG] = operands;
            self.log.operated += 1;
        }
    }

    #[inline(always)]
    fn access<const SIZE: usize>(&mut self, va: u64, index: u64, store: bool, value: u64) {
        let pa = self.ram_base + index;
        if O::BLOCKS && O::MEMORY {
            self.log.accesses[self.log.accessed % LOG] = Touch::new(va, pa, store);
            self.log.accessed += 1;
        } else if O::MEMORY {
            let va = self.outside(va);
            self.obs.access(&Access { kind: AccessKind::Data, store, va, pa, size: SIZE as u8, value });
        }
    }

    /// Reports the retirement of the op's instruction; `next`: where it jumps.
    #[inline(always)]
    fn retire(&mut self, op: &MicroOp, next: Option<u64>, value: u64, operands: [u64; 2], taken: bool) {
        if O::RETIRE {
            let meta = &self.meta[place(op)];
            let retired = Retired {
                pc: self.outside(meta.pc),
                pa: u64::from(meta.page) << 12 | meta.pc & (PAGE - 1),
                next_pc: self.outside(next.unwrap_or_else(|| self.meta[place(op) + 1].pc)),
                insn: meta.insn,
                word: meta.word,
                privilege: self.privilege,
                value,
                operands,
                taken,
                instret: self.retired.wrapping_add(self.n + (place(op) - self.from) as u64),
            };
            self.obs.retire(&retired);
        }
    }

    /// Reports what was recorded.
    #[inline(always)]
    fn tell(&mut self) {
        let Log { noted, accessed, operated, .. } = self.log;
        if noted > 0 {
            let several = Several {
                passes: &self.log.passes[..noted],
                accesses: &self.log.accesses[..accessed],
                operands: &self.log.operands[..operated],
                insns: self.meta,
                epoch: self.epoch,
                privilege: self.privilege,
                rv32: self.rv32,
                retired: self.base,
            };
            tell(self.obs, &several);
        }
    }
}

const _: () = assert!(NO_TAG & !(PAGE - 1) == 0 && NO_TAG > 7, "no masked address equals it");
