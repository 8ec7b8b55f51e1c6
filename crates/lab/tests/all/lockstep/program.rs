//! Random programs for the privileged architecture: what the random programs of `riscv/tests` leave out.
//!
//! A program is a chain of blocks. Each begins in M-mode, writes random control and status registers, enters a random mode with
//! random translation, delegation and protection, and executes a random body there. Whatever happens in it, the handler of M-mode
//! reads what the trap left. It skips an instruction that failed; otherwise it takes back what could raise an interrupt, and goes on
//! with the next block. A commit log shows the rest.
//!
//! What the specification leaves to the machine, and this one decides otherwise than Spike (`docs/reference/isa.md`), does not occur.

#[path = "program/stacks.rs"]
mod stacks;
#[path = "program/tables.rs"]
mod tables;

use super::common::{Asm, Rng};
use tollgate_riscv::{Class, Extension, Format, INSTRUCTIONS, Insn, Isa, Op, Operands, RegClass, Row};

/// Where the program is, and how large its memory is.
pub(crate) const BASE: u64 = 0x8000_0000;
pub(crate) const RAM: u64 = 1 << 20;
/// The parts of the image.
const HANDLER: u64 = 0x400;
const SUPERVISOR: u64 = 0x500;
const BLOCKS: u64 = 0x600;
const TABLES: u64 = 0x1_0000;
const DATA: u64 = 0x2_0000;
const DATA_PAGES: u64 = 4;
/// Where the handler of S-mode is mapped besides, for S-mode only.
const ALIAS: u64 = 0xc000_0000;
const CLINT: i64 = 0x200_0000;

/// Registers that bodies leave alone: the loop counter, an address, the data, where the next block begins. (28 to 31 are the
/// handlers'.)
const COUNTER: u8 = 24;
const ADDRESS: u8 = 25;
const POOL: u8 = 26;
const RESUME: u8 = 27;

const MSTATUS: i64 = 0x300;
const STIMECMP: i64 = 0x14d;
const STIMECMPH: i64 = 0x15d;
const MPRV: i64 = 1 << 17;
const MPP: i64 = 3 << 11;
const TSR: u64 = 1 << 22;

/// Registers to read and write, and the bits that a value written may have. What is not here has another meaning on Spike.
const CSRS: [(i64, u64); 42] = [
    (0x001, !0),
    (0x002, !0),
    (0x003, !0),
    (0xc00, !0),
    (0xc02, !0),
    (0xc80, !0),
    (0xc82, !0),
    (0xc03, !0),
    (0x100, !0),
    (0x104, !0),
    (0x106, !0),
    (0x10a, !1),
    (0x140, !0),
    (0x141, !0),
    (0x142, !0),
    (0x143, !0),
    (0x144, !0),
    (0x300, !0),
    (0x302, !(1 << 9)),
    (0x303, !0),
    (0x304, !0),
    (0x306, !0),
    (0x30a, !1),
    (0x31a, !0),
    (0x320, !0),
    (0x340, !0),
    (0x341, !0),
    (0x342, !0),
    (0x343, !0),
    (0x344, !0),
    (0x3a0, 0x1f1f_1f00_1f1f_1f1f),
    (0x3a1, 0x1f1f_1f1f),
    (0x3b1, !0),
    (0x3b2, !0),
    (0x3b3, !0),
    (0x3b4, !0),
    (0x3b7, !0),
    (0xb00, !0),
    (0xb02, !0),
    (0xb80, !0),
    (0xb82, !0),
    (0x310, 0),
];
/// Those of Zicfiss and Zicfilp, of Smstateen, of Sscofpmf and of pointer masking.
const MORE_CSRS: [(i64, u64); 10] = [
    (0x011, !0),
    (0x747, 3 << 32 | 1 << 10),
    (0x30c, 3 << 62),
    (0x31c, 3 << 30),
    (0x30d, !0),
    (0x10c, !0),
    (0x10d, !0),
    (0x323, 15 << 60),
    (0x723, 0),
    (0xda0, !0),
];
/// What has them.
const MORE: [Extension; 6] = [
    Extension::Zicfiss,
    Extension::Zicfilp,
    Extension::Smstateen,
    Extension::Sscofpmf,
    Extension::Smnpm,
    Extension::Smmpm,
];
/// Registers that are only read, among them some that do not exist.
const READ_ONLY: [i64; 14] =
    [0x105, 0x123, 0x180, 0x301, 0x305, 0x3a4, 0x3b0, 0x3bf, 0x5c0, 0x800, 0xc1f, 0xf11, 0xf14, 0xf15];

pub(crate) struct Program<'a> {
    rng: &'a mut Rng,
    isa: Isa,
    /// Whether code may be executed that was overwritten and not fetched again.
    coherent: bool,
    a: Asm,
    rows: Vec<&'static Row>,
}

/// Whether an instruction has a part of the generator's own, or none. (Constants and moves of Zfa are in the class only because
/// blocks do not do them.)
fn is_systems(row: &Row) -> bool {
    row.class == Class::System && !matches!(row.format, Format::Fli | Format::X2p)
}

/// A random program as the image of memory from [`BASE`].
pub(crate) fn program(rng: &mut Rng, isa: Isa, coherent: bool, blocks: usize) -> Vec<u8> {
    let rows = INSTRUCTIONS.iter().filter(|row| row.in_isa(&isa) && !is_systems(row));
    Program { rng, isa, coherent, a: Asm::default(), rows: rows.collect() }.build(blocks)
}

impl Program<'_> {
    fn build(mut self, blocks: usize) -> Vec<u8> {
        self.prologue();
        self.pad(HANDLER);
        self.handler();
        self.pad(SUPERVISOR);
        // S-mode's handler reads what the trap left, and calls M-mode.
        for csr in [0x141, 0x143, 0x100, 0x144, 0x142] {
            self.a.csrr(28, csr);
        }
        self.skip(0x141, Op::Sret);
        self.a.op(Op::Ecall, 0, 0, 0, 0);
        self.pad(BLOCKS);
        for n in 0..blocks {
            self.block(n + 1 == blocks);
        }
        // Trap after trap: Spike ends a turn at each, whose number is an option of it.
        self.la(RESUME, self.a.here());
        self.a.op(Op::Ecall, 0, 0, 0, 0);
        self.pad(TABLES);
        let tables = self.tables();
        self.a.0.extend(tables);
        self.pad(DATA);
        for _ in 0..DATA_PAGES * 512 {
            let value = self.rng.value();
            self.a.0.extend(value.to_le_bytes());
        }
        self.a.0
    }

    fn pad(&mut self, to: u64) {
        assert!(self.a.here() <= to, "{:#x} bytes before {to:#x}", self.a.here());
        self.a.0.resize(to as usize, 0);
    }

    fn below(&mut self, n: u64) -> u64 {
        self.rng.below(n)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.rng.below(n) == 0
    }

    /// An address in the image, relative to the code, into a register.
    fn la(&mut self, rd: u8, to: u64) {
        let distance = to as i64 - self.a.here() as i64;
        let low = distance << 52 >> 52;
        let auipc = if self.isa.is_rv64() { Op::Auipc } else { Op::Auipc32 };
        self.a.op(auipc, rd, 0, 0, distance - low);
        self.addi(rd, rd, low);
    }

    fn addi(&mut self, rd: u8, rs1: u8, imm: i64) {
        let op = if self.isa.is_rv64() { Op::Addi } else { Op::Addi32 };
        self.a.op(op, rd, rs1, 0, imm);
    }

    /// A value into a register, in M-mode.
    fn li(&mut self, rd: u8, value: u64) {
        if !self.isa.is_rv64() {
            self.a.li(rd, value as i32);
            return;
        }
        self.a.li(rd, (value >> 32) as i32);
        for (bits, below) in [(11, 21), (11, 10), (10, 0)] {
            let part = (value >> below & ((1 << bits) - 1)) as i64;
            self.a.op(Op::Slli, rd, rd, 0, bits).op(Op::Ori, rd, rd, 0, part);
        }
    }

    /// Makes the machine's state what it is on Spike after its own boot code.
    fn prologue(&mut self) {
        for r in 1..32 {
            self.addi(r, 0, i64::from(r));
        }
        self.la(RESUME, BLOCKS);
        self.la(28, HANDLER);
        self.a.csrw(0x305, 28);
        self.la(28, SUPERVISOR);
        self.a.csrw(0x105, 28);
        self.quiet();
        // Memory is for everybody, by the last entry.
        self.addi(28, 0, -1);
        self.a.csrw(0x3bf, 28);
        self.li(28, 0x1f << if self.isa.is_rv64() { 56 } else { 24 });
        self.a.csrw(if self.isa.is_rv64() { 0x3a2 } else { 0x3a3 }, 28).csrw(0x3a0, 0).csrw(0x3b0, 0);
        self.li(28, 0x6000);
        self.a.csrw(MSTATUS, 28);
        for r in 0..32 {
            let op = if self.isa.has(Extension::D) { Op::FcvtDW } else { Op::FcvtSW };
            if self.isa.has(Extension::F) {
                self.a.op(op, r, r, 0, 0).csrw(3, 0);
            }
        }
        if self.isa.has(Extension::Zicfilp) {
            self.a.csrw(0x747, 0);
        }
        for csr in [0x30a, 0x320, 0xb00, 0xb02, 0x340, 0x302, 0x303, 0x341] {
            self.a.csrw(csr, 0);
        }
        if !self.isa.is_rv64() {
            self.a.csrw(0x31a, 0);
        }
        self.la(POOL, DATA);
        let distance = (BLOCKS - self.a.here()) as i64;
        self.a.op(Op::Jal, 0, 0, 0, distance);
    }

    /// Takes back what raises interrupts.
    fn quiet(&mut self) {
        self.a.op(Op::Lui, 28, 0, 0, CLINT).op(Op::Sw, 0, 28, 0, 0).op(Op::Lui, 28, 0, 0, CLINT + 0x4000);
        self.addi(29, 0, -1);
        self.a.op(Op::Sw, 0, 28, 29, 0).op(Op::Sw, 0, 28, 29, 4);
        self.supervisor_timer(29);
        self.a.csrw(0x304, 0).csrw(0x344, 0).csrr(29, 0x344);
    }

    /// Writes the time of S-mode's timer.
    fn supervisor_timer(&mut self, source: u8) {
        if self.isa.has(Extension::Sstc) {
            self.a.csrw(STIMECMP, source);
            if !self.isa.is_rv64() {
                self.a.csrw(STIMECMPH, source);
            }
        }
    }

    fn handler(&mut self) {
        for csr in [0x341, 0x343, MSTATUS, 0x344, 0x342] {
            self.a.csrr(28, csr);
        }
        self.skip(0x341, Op::Mret);
        self.a.op(Op::Lui, 28, 0, 0, MPRV).op(Op::Csrrc, 0, 28, 0, MSTATUS);
        if self.isa.has(Extension::Zicfilp) {
            // The next block does not begin with a landing pad.
            let (register, bits) = if self.isa.is_rv64() { (MSTATUS, 41) } else { (0x310, 9) };
            let shift = if self.isa.is_rv64() { Op::Slli } else { Op::Slli32 };
            self.addi(28, 0, 1);
            self.a.op(shift, 28, 28, 0, bits).op(Op::Csrrc, 0, 28, 0, register);
        }
        self.quiet();
        self.a.csrw(0x341, RESUME).li(28, MPP as i32).op(Op::Csrrs, 0, 28, 0, MSTATUS);
        self.a.op(Op::Mret, 0, 0, 0, 0);
    }

    /// Returns behind an instruction that could not be executed, if the cause in x28 says that.
    fn skip(&mut self, epc: i64, back: Op) {
        const CAUSES: i32 = 0xa0fc;
        let shift = if self.isa.is_rv64() { Op::Sll } else { Op::Sll32 };
        self.a.op(Op::Blt, 0, 28, 0, 44);
        self.addi(29, 0, 1);
        self.a.op(shift, 29, 29, 28, 0).li(28, CAUSES).op(Op::And, 29, 29, 28, 0).op(Op::Beq, 0, 29, 0, 20);
        self.a.csrr(28, epc);
        self.addi(28, 28, 4);
        self.a.csrw(epc, 28).op(back, 0, 0, 0, 0);
    }

    fn block(&mut self, is_last: bool) {
        let start = self.a.0.len();
        // Where the next block begins comes here when that is known.
        self.la(RESUME, self.a.here());
        for _ in 0..self.below(5) {
            self.csr_access(3, true);
        }
        if self.one_in(3) {
            self.protection();
        }
        let mode = self.rng.pick(&[0, 0, 1, 1, 3]);
        if mode == 3 {
            if self.one_in(2) {
                // Loads and stores as in another mode.
                self.enter(true, 0);
            }
        } else {
            self.enter(false, mode);
        }
        let loops = self.one_in(3);
        if loops {
            self.addi(COUNTER, 0, 12);
        }
        let body = self.a.here();
        for _ in 0..4 + self.below(if loops { 12 } else { 24 }) {
            self.item(mode);
        }
        if loops {
            self.addi(COUNTER, COUNTER, -1);
            let back = body as i64 - self.a.here() as i64;
            self.a.op(Op::Bne, 0, COUNTER, 0, back);
        }
        if is_last {
            self.wait();
        }
        self.a.op(Op::Ecall, 0, 0, 0, 0);
        let end = self.a.here();
        let mut first =
            Program { rng: &mut Rng(0), isa: self.isa, coherent: false, a: Asm::default(), rows: Vec::new() };
        first.a.0.resize(start, 0);
        first.la(RESUME, end);
        self.a.0[start..start + 8].copy_from_slice(&first.a.0[start..]);
    }

    /// Random registers for translation and delegation; then `mret` to a mode, or MPRV as if from it.
    fn enter(&mut self, stays: bool, mode: u64) {
        let roots = self.roots();
        let satp = match self.below(8) {
            0 | 1 => 0,
            2 => roots[self.below(roots.len() as u64) as usize],
            _ => roots[mode as usize * roots.len() / 2 + self.below(roots.len() as u64 / 2) as usize],
        };
        self.li(28, satp);
        self.a.csrw(0x180, 28).op(Op::SfenceVma, 0, 0, 0, 0);
        let mut stvec = BASE + SUPERVISOR;
        if satp != 0 {
            stvec = ALIAS + SUPERVISOR;
        }
        let vectored = self.below(2);
        self.li(28, stvec | vectored);
        self.a.csrw(0x105, 28);
        let mut status = self.rng.next() & 0x7e_e1aa & !(MPRV | MPP) as u64;
        if self.one_in(2) {
            // Fetches that fail seldom: those of the handler may fail as well, for ever.
            let fetches = if self.one_in(16) { 0 } else { 1 << 1 | 1 << 12 };
            let delegated = self.rng.next() & !(1 << 9 | fetches);
            self.li(28, delegated);
            self.a.csrw(0x302, 28);
        }
        if status & TSR != 0 {
            // The handler's own `sret` traps.
            self.a.op(Op::Csrrci, 0, 1 << 2, 0, 0x302);
        }
        if self.one_in(2) {
            status |= 0x6000;
        }
        status |= if stays { MPRV as u64 } else { 0 } | (self.rng.pick(&[mode, mode, 1]) << 11);
        if !stays {
            status = status & !(MPP as u64) | mode << 11;
        }
        self.li(28, status);
        self.a.csrw(MSTATUS, 28);
        if !stays {
            let here = self.a.here();
            self.la(28, here + 16);
            self.a.csrw(0x341, 28).op(Op::Mret, 0, 0, 0, 0);
        }
    }

    /// Random entries of protection around the data.
    fn protection(&mut self) {
        for entry in 1..=4 {
            let page = BASE + DATA + self.below(DATA_PAGES) * 4096;
            let address = (page + self.below(512) * 8) >> 2 | ((1 << self.below(11)) - 1) | 1;
            let odd = u64::from(self.one_in(3));
            self.li(28, address & !odd);
            self.a.csrw(0x3b0 + entry, 28);
        }
        let lock = if self.one_in(24) { 0x80 } else { 0 };
        let cfg = self.rng.next() & 0x9f9f_9f9f_9f9f_9f00 & !0x8080_8080_8080_8080 | lock << 8;
        // No NA4: a protected word in a doubleword is checked otherwise for `sc` that fails.
        let cfg = cfg | (cfg & 0x1010_1010_1010_1010) >> 1;
        // Entry 1 must not begin at 0: the code would be in it.
        let cfg = if cfg >> 11 & 3 == 1 { cfg | 0x1800 } else { cfg };
        let cfg = if self.isa.is_rv64() { cfg & 0xff_ffff_ff00 } else { cfg & 0xffff_ff00 };
        self.li(28, cfg);
        self.a.csrw(0x3a0, 28);
    }

    fn any(&mut self) -> u8 {
        self.below(32) as u8
    }

    /// A register that a body may write.
    fn destination(&mut self) -> u8 {
        let r = self.below(28) as u8;
        if (COUNTER..=RESUME).contains(&r) { 0 } else { r }
    }

    fn csr_access(&mut self, mode: u64, machine: bool) {
        let rd = self.destination();
        if self.one_in(5) {
            let csr = self.rng.pick(&READ_ONLY);
            self.a.csrr(rd, csr);
            return;
        }
        let has_more = MORE.iter().any(|extension| self.isa.has(*extension));
        let some = if has_more && self.one_in(5) { &MORE_CSRS[..] } else { &CSRS };
        let (mut csr, mut mask) = self.rng.pick(some);
        while csr as u64 >> 8 & 3 > mode && !self.one_in(8) {
            (csr, mask) = self.rng.pick(some);
        }
        let op = self.rng.pick(&[Op::Csrrw, Op::Csrrs, Op::Csrrc, Op::Csrrwi, Op::Csrrsi, Op::Csrrci]);
        let immediate = matches!(op, Op::Csrrwi | Op::Csrrsi | Op::Csrrci);
        if mask == 0 || !machine && mask != !0 {
            self.a.csrr(rd, csr);
            return;
        }
        let mut source = self.any();
        if immediate {
            source = source & mask as u8 & 31;
        } else if machine {
            let value = self.rng.value() & mask;
            self.li(28, value);
            source = 28;
        }
        self.a.op(op, rd, source, 0, csr);
        if matches!(csr, 0x30a | 0x31a) {
            // Translations may depend on it.
            self.a.op(Op::SfenceVma, 0, 0, 0, 0);
        }
    }

    /// An address into the register for addresses; whether an interrupt may follow a store there.
    fn address(&mut self, aligned: bool) -> bool {
        let offset = self.below(DATA_PAGES * 4096 - 8) as i64 & if aligned { !7 } else { !0 };
        match self.below(10) {
            0..4 => {
                self.a.op(Op::Lui, ADDRESS, 0, 0, offset & !0xfff);
                let add = if self.isa.is_rv64() { Op::Add } else { Op::Add32 };
                self.a.op(add, ADDRESS, ADDRESS, POOL, 0);
                self.addi(ADDRESS, ADDRESS, offset & 0x7ff & if aligned { !7 } else { !0 });
                // The last bytes of a page, and the first of the next one.
                if !aligned && self.one_in(4) {
                    self.a.op(Op::Ori, ADDRESS, ADDRESS, 0, 0x7fc);
                    self.addi(ADDRESS, ADDRESS, 0x7ff);
                }
            }
            // Addresses that the tables map: small pages, large pages, invalid entries. (The read-only memory is at 0x1000,
            // with something else in it.)
            4..8 => {
                let high = self.rng.pick(&[0, 0, 0, 0, 0x20_0000, 0x40_0000, 0x60_0000, 0x4000_0000]);
                // (Large pages map the whole image, and code that is overwritten may be executed as it was.)
                let page = if high == 0 {
                    (2 + self.below(62)) << 12
                } else {
                    DATA + (self.below(DATA_PAGES) << 12)
                };
                self.a.op(Op::Lui, ADDRESS, 0, 0, (high + page) as i64);
                self.addi(ADDRESS, ADDRESS, offset & 0x7ff);
            }
            8 => {
                self.a.op(Op::Lui, ADDRESS, 0, 0, 0x6000_0000);
                self.addi(ADDRESS, ADDRESS, offset & 0x7f);
            }
            _ => {
                self.a.op(Op::Lui, ADDRESS, 0, 0, CLINT);
                return true;
            }
        }
        false
    }

    fn item(&mut self, mode: u64) {
        match self.below(20) {
            0..3 => self.csr_access(mode, false),
            3 => self.interrupt(),
            4 => self.reservation(),
            5 => self.code(),
            6 if self.isa.has(Extension::Zawrs) && self.one_in(2) => {
                // Blocks of a cache, and waits for the end of a reservation: there may be one, and a store may end it.
                if self.address(false) {
                    return;
                }
                let op = self.rng.pick(&[
                    Op::CboInval,
                    Op::CboClean,
                    Op::CboFlush,
                    Op::CboZero,
                    Op::WrsNto,
                    Op::WrsSto,
                ]);
                let rs1 = if matches!(op, Op::WrsNto | Op::WrsSto) { 0 } else { ADDRESS };
                if op == Op::CboZero {
                    // Where a page traps, Spike reports the start of the block.
                    self.a.op(Op::Andi, ADDRESS, ADDRESS, 0, -64);
                }
                self.a.op(op, 0, rs1, 0, 0);
            }
            6 => {
                let (rs1, rs2) = if self.one_in(2) { (0, 0) } else { (ADDRESS, self.any()) };
                let op = self.rng.pick(&[Op::SfenceVma, Op::FenceI, Op::Fence]);
                self.a.op(op, 0, rs1, if op == Op::SfenceVma { rs2 } else { 0 }, 0);
            }
            7 => {
                // Bits that encode nothing, and instructions that a mode may not have.
                let words = [0xffff_ffff, 0x0000_007f, 0xc000_1073, 0x1020_0073, 0x1050_0073, 0x0010_0073];
                let word = self.rng.pick(&words);
                if word == 0x1050_0073 {
                    // Something is pending, so that it does not wait.
                    self.a.op(Op::Csrrsi, 0, 2, 0, 0x344).op(Op::Csrrsi, 0, 2, 0, 0x304);
                } else if word == 0x1020_0073 {
                    self.return_here(0x141);
                }
                self.a.word(word);
            }
            8 if mode == 3 => {
                self.return_here(0x341);
                self.a.op(Op::Mret, 0, 0, 0, 0);
            }
            9 if self.isa.has(Extension::Zcmp) => self.registers(),
            9 if self.isa.has(Extension::Zicfiss) && self.one_in(2) => self.shadow_stack(),
            9 => {
                let half = self.rng.next() as u16;
                if self.is_harmless(half) {
                    self.a.half(half).half(1);
                }
            }
            _ => self.instruction(),
        }
    }

    /// The next instruction's address into `mepc` or `sepc`.
    fn return_here(&mut self, csr: i64) {
        let here = self.a.here();
        self.la(23, here + 16);
        self.a.csrw(csr, 23);
    }

    /// Raises an interrupt from a device or by `mip`, enabled or not. A register is read next: Spike looks there.
    fn interrupt(&mut self) {
        let rd = self.destination();
        let bits = self.rng.next() as i64 & 0xaaa;
        self.addi(23, 0, bits << 52 >> 52);
        let enable = self.rng.pick(&[0x304, 0x104]);
        self.a.csrw(enable, 23);
        match self.below(5) {
            4 => self.supervisor_timer(0),
            0 => {
                self.addi(23, 0, 1);
                self.a.op(Op::Lui, 22, 0, 0, CLINT).op(Op::Sw, 0, 22, 23, 0);
            }
            1 => {
                self.a.op(Op::Lui, 22, 0, 0, CLINT + 0x4000).op(Op::Sw, 0, 22, 0, 4).op(Op::Sw, 0, 22, 0, 0);
            }
            _ => {
                let pending = self.rng.pick(&[0x344, 0x144]);
                self.a.op(Op::Csrrs, rd, 23, 0, pending);
            }
        }
        self.a.csrr(rd, 0x100);
    }

    /// `lr` and `sc` with, without and with another's reservation; something may come in between.
    fn reservation(&mut self) {
        let wide = self.isa.is_rv64() && self.one_in(2);
        let (lr, sc) = if wide { (Op::LrD, Op::ScD) } else { (Op::LrW, Op::ScW) };
        let aligned = !self.one_in(4);
        self.address(aligned);
        let [a, b] = [self.destination(), self.destination()];
        if !self.one_in(3) {
            self.a.word(Insn::encode(lr, Operands { rd: a, rs1: ADDRESS, ..Default::default() }));
        }
        match self.below(6) {
            0 => {
                self.address(true);
            }
            1 => self.instruction(),
            2 => self.addi(ADDRESS, ADDRESS, 4),
            _ => {}
        }
        let sc = if self.one_in(6) { Op::ScW } else { sc };
        let rs2 = self.any();
        self.a.word(Insn::encode(sc, Operands { rd: b, rs1: ADDRESS, rs2, ..Default::default() }));
    }

    /// Overwrites an instruction that comes soon; it is fetched again, or fetches are coherent.
    fn code(&mut self) {
        let word = Insn::encode(
            Op::Xori,
            Operands { rd: 9, rs1: 9, imm: self.below(2000) as i64, ..Default::default() },
        );
        self.a.li(23, word as i32);
        let distance = 8 + 4 * self.below(3);
        let here = self.a.here();
        self.la(22, here + 8 + 4 + distance);
        self.a.op(Op::Sw, 0, 22, 23, 0);
        let fence = if self.coherent && self.one_in(2) { Op::Fence } else { Op::FenceI };
        self.a.op(fence, 0, 0, 0, 0);
        for _ in 0..5 {
            self.addi(9, 9, 1);
        }
    }

    fn instruction(&mut self) {
        let row = self.rng.pick(&self.rows);
        let rd = if row.format.rd() == RegClass::F { self.any() } else { self.destination() };
        let (rs1, rs2, rs3) = (self.any(), self.any(), self.any());
        let rm = self.rng.pick(&[0, 0, 1, 2, 3, 4, 7, 7, 7, 5]);
        let imm = (self.rng.next() as i64) >> 52;
        let operands = Operands { rd, rs1, rs2, rs3, rm, imm };
        let in_data = Operands { rs1: ADDRESS, ..operands };
        match row.class {
            Class::Branch | Class::Jump => {
                self.a.op(row.op, rd, rs1, rs2, 8);
                self.addi(0, 0, 0);
            }
            Class::JumpReg => {
                let here = self.a.here();
                self.la(23, here + 16);
                self.a.op(Op::Jalr, rd, 23, 0, 0);
                self.addi(0, 0, 0);
            }
            Class::Load | Class::FpLoad | Class::Store | Class::FpStore => {
                let aligned = self.one_in(2);
                let device = self.address(aligned);
                let imm = if device || aligned { 0 } else { imm & 7 };
                if device && !matches!(row.op, Op::Lw | Op::Sw | Op::Lbu | Op::Lh) {
                    return;
                }
                self.a.word(Insn::encode(row.op, Operands { imm, ..in_data }));
                if device {
                    self.a.csrr(0, 0x100);
                }
            }
            Class::Amo | Class::LoadReserved | Class::StoreConditional => {
                let aligned = !self.one_in(3);
                if self.address(aligned) && row.class == Class::Amo {
                    return;
                }
                self.a.word(Insn::encode(row.op, Operands { imm: 0, ..in_data }));
            }
            Class::Upper => {
                let imm = self.rng.next() as i32 as i64;
                self.a.word(Insn::encode(row.op, Operands { imm, ..operands }));
            }
            Class::Csr => self.csr_access(0, false),
            Class::Nop => {}
            _ => {
                self.a.word(Insn::encode(row.op, operands));
            }
        }
    }

    /// Whether a random 16-bit instruction neither jumps nor accesses memory nor writes what bodies leave alone.
    fn is_harmless(&self, half: u16) -> bool {
        let decoder = tollgate_riscv::Decoder::new(self.isa);
        half & 3 != 3
            && decoder.decode(u32::from(half)).is_some_and(|insn| {
                let row = insn.row();
                let kept = row.format.rd() == RegClass::X && insn.rd >= COUNTER;
                !kept && matches!(row.class, Class::AluImm | Class::AluReg | Class::Upper | Class::Nop)
            })
    }

    /// Waits for the timer with inhibited counters: Spike counts how often it looks.
    fn wait(&mut self) {
        self.addi(23, 0, 5);
        self.a.csrw(0x320, 23);
        self.addi(23, 0, 20);
        self.a.op(Op::Lui, 22, 0, 0, CLINT + 0x4000).op(Op::Sw, 0, 22, 0, 4).op(Op::Sw, 0, 22, 23, 0);
        self.addi(23, 0, 0x80);
        self.a.csrw(0x304, 23).op(Op::Wfi, 0, 0, 0, 0).csrr(22, 0x344);
    }
}
