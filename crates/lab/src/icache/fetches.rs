//! Which addresses are fetched: one for each instruction, or one for each cycle of a five-stage pipeline.

use tollgate_riscv::{Class, Insn, Observer, RegClass, Retired, Trap};

use super::code::{Code, Mix};
use super::seen::{Report, Seen};
use super::settings::{Build, Count};

/// Fetches behind the last instruction until it has left a pipeline of five stages, and one that Ripes counts for
/// the cycle in which nothing is left.
const DRAIN: u64 = 5;
/// Instructions fetched in vain when the third stage finds that a branch is taken.
const IN_VAIN: u64 = 2;

/// Watches a machine and passes its fetches to the caches.
pub(super) struct Fetches {
    code: Code,
    /// Whether execution outside of the code ends the program.
    ends_outside: bool,
    count: Count,
    seen: Seen,
    mix: Mix,
    accesses: u64,
    /// The register that the instruction before loads.
    loaded: Option<u8>,
    /// The address where execution continues, and whether a taken branch led there.
    next: u64,
    jumped: bool,
    /// Whether execution has left the code.
    left: bool,
    /// The last unhandled trap. How many traps there were since an instruction retired.
    trap: Option<Trap>,
    traps_in_a_row: u64,
}

impl Fetches {
    pub(super) fn new(code: Code, ends_outside: bool, count: Count, seen: Seen) -> Self {
        Self {
            code,
            ends_outside,
            count,
            seen,
            mix: Mix::default(),
            accesses: 0,
            loaded: None,
            next: 0,
            jumped: false,
            left: false,
            trap: None,
            traps_in_a_row: 0,
        }
    }

    pub(super) fn retired(&self) -> u64 {
        self.mix.instructions
    }

    /// Whether execution has left the code, which is how a program without a caller ends.
    pub(super) fn has_left(&self) -> bool {
        self.left
    }

    /// Whether the program does nothing but trap.
    pub(super) fn is_stuck(&self) -> bool {
        self.traps_in_a_row > 1
    }

    pub(super) fn stuck(&self) -> Option<Trap> {
        self.trap.filter(|_| self.is_stuck())
    }

    fn access(&mut self, address: u64, bytes: u64) {
        self.accesses += 1;
        self.seen.access(address, bytes);
    }

    /// A cycle's fetch: of the pc's word.
    fn cycle(&mut self, pc: u64) {
        self.access(pc & !3, 4);
    }

    fn cycles_of(&mut self, retired: &Retired) {
        self.cycle(retired.pc);
        let insn = &retired.insn;
        if self.loaded.is_some_and(|register| reads(insn, register)) {
            // The fetch of what comes next is repeated; that it is counted here, before it, changes no miss.
            self.cycle(retired.pc);
        }
        self.loaded = (insn.row().class == Class::Load && insn.rd != 0).then_some(insn.rd);
        if self.jumped {
            let mut pc = retired.pc + u64::from(insn.len);
            for _ in 0..IN_VAIN {
                self.cycle(pc);
                pc += self.code.length_at(pc);
            }
        }
    }

    /// The report.
    pub(super) fn finish(mut self, build: &Build, ended: bool) -> Report {
        let mut cycles = self.accesses;
        if self.count == Count::Cycle {
            let done = if self.jumped { IN_VAIN } else { 0 };
            let mut pc = self.next;
            for _ in done..DRAIN {
                self.cycle(pc);
                pc += self.code.length_at(pc);
            }
            cycles = self.accesses - 1;
        }
        Report {
            build: build.clone(),
            code: self.code,
            count: self.count,
            dynamic_mix: self.mix,
            accesses: self.accesses,
            cycles,
            ended,
            sweep: self.seen.swept(),
            caches: self.seen.caches,
        }
    }
}

/// Whether an instruction reads an integer register.
fn reads(insn: &Insn, register: u8) -> bool {
    let format = &insn.row().format;
    (format.rs1() == RegClass::X && insn.rs1 == register)
        || (format.rs2() == RegClass::X && insn.rs2 == register)
}

impl Observer for Fetches {
    const RETIRE: bool = true;
    const TRAP: bool = true;

    fn retire(&mut self, retired: &Retired) {
        // Memory after the end of the code is data, even if it could be executed.
        if self.left {
            return;
        }
        self.traps_in_a_row = 0;
        self.mix.add(&retired.insn);
        self.next = retired.next_pc;
        self.left = self.ends_outside && !self.code.contains(self.next);
        // Ripes squashes what was fetched behind it even if the target is the next instruction.
        let goes = matches!(retired.insn.row().class, Class::Jump | Class::JumpReg);
        self.jumped = goes || retired.taken || retired.next_pc != retired.pc + u64::from(retired.insn.len);
        match self.count {
            Count::Fetch => self.access(retired.pc, u64::from(retired.insn.len)),
            Count::Cycle => self.cycles_of(retired),
        }
    }

    fn trap(&mut self, trap: &Trap) {
        self.traps_in_a_row += 1;
        if self.traps_in_a_row == 1 {
            self.trap = Some(*trap);
        }
    }
}
