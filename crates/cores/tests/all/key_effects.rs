//! Every key that a core's file may have changes a figure of that core: cycles, their causes, or a count.
//!
//! A key is given two values, one after the other, beside others without which it would change nothing. Small programs then run
//! until the figures differ.

use std::collections::BTreeMap;

use crate::common::{Asm, Rng, random};
use crate::equal::restless;
use random::{BASE, Mode};
use tollgate_cores::{ByPrivilege, Core, Design, Ledger, Timed, TimingCounts};
use tollgate_riscv::{Code, Config, Isa, Machine, MachineKind, Op};

/// A key, two values of it, and what else a core needs.
type Row = (&'static str, [&'static str; 2], &'static str);

/// What all cores here have, unless a row says otherwise: so little that everything happens often.
const SMALL: &str = "l1i.geometry = '4:2:16'; l1d.geometry = '4:2:16'; itlb.entries = 2; dtlb.entries = 2; \
    memory.latency = 11";

/// A data cache whose changed lines are written back.
const BACK: &str = "l1d.write-through = false; l1d.no-write-allocate = false; l1d.geometry = '1:2:16'; \
    memory.write-back = 0";

/// Keys that change no figure, and why each is accepted.
const WITHOUT_EFFECT: [(&str, &str); 8] = [
    ("l1i.write-through", "an instruction cache may be given the shape of a data cache"),
    ("l1i.no-write-allocate", "the same"),
    ("l1i.hit", "only a second level has it; the same shape may be given to all"),
    ("l1d.hit", "the same"),
    ("l2.write-through", "only memory is below it, which takes its writes at no cost"),
    ("name", "labels the core"),
    ("about", "describes the core"),
    ("system.asid-bits", "changes the machine that executes: `Core::config`"),
];

/// Keys of one core that change nothing in it, and why.
const UNREAD: &[(&str, &str, &str)] = &[
    ("vexriscv", "system.satp-empties", "it always empties them; `CacheCounter` reads the key"),
    (
        "cva6",
        "operation.float-to-integer.cycles",
        "`float-move` and `float-convert`, which it has, go before",
    ),
];

const ROWS: &[Row] = &[
    ("l1i.geometry", ["'4:2:16'", "'1:2:16'"], ""),
    ("l1i.replacement", ["'lru'", "'random'"], ""),
    ("l1i.seed", ["1", "2"], "l1i.replacement = 'random'"),
    ("l1d.geometry", ["'4:2:16'", "'1:2:16'"], ""),
    ("l1d.replacement", ["'lru'", "'random'"], ""),
    ("l1d.write-through", ["false", "true"], "l2.geometry = '8:2:64'"),
    ("l1d.no-write-allocate", ["false", "true"], ""),
    ("l1d.seed", ["1", "2"], "l1d.replacement = 'random'"),
    ("l2.geometry", ["'8:2:64'", "'1:1:64'"], ""),
    ("l2.replacement", ["'lru'", "'random'"], "l2.geometry = '1:4:16'"),
    ("l2.no-write-allocate", ["false", "true"], "l2.geometry = '1:4:16'; l1d.write-through = true"),
    ("l2.seed", ["1", "2"], "l2.geometry = '1:4:16'; l2.replacement = 'random'"),
    ("l2.hit", ["3", "5"], "l2.geometry = '8:2:64'"),
    ("itlb.entries", ["2", "1"], ""),
    ("dtlb.entries", ["4", "1"], ""),
    ("memory.latency", ["11", "13"], ""),
    ("memory.device", ["3", "9"], ""),
    ("memory.device-on-bus", ["false", "true"], "memory.device = 3; memory.device-posted = false"),
    ("memory.miss", ["0", "3"], ""),
    ("memory.fetch-miss", ["0", "3"], ""),
    ("memory.write-back", ["0", "5"], BACK),
    ("memory.walk-write-back", ["0", "9"], BACK),
    ("memory.write-back-compare", ["0", "5"], BACK),
    ("memory.fault-walks", ["false", "true"], "memory.walk = 30"),
    ("memory.walk", ["2", "5"], ""),
    ("memory.fetch-walk", ["1", "7"], ""),
    ("memory.fetch-walk-step", ["0", "5"], ""),
    ("memory.walk-level", ["1", "4"], ""),
    ("memory.walk-cache", ["0", "8"], "memory.walk-level = 3; itlb.entries = 1"),
    ("memory.write-latency", ["11", "23"], ""),
    ("memory.stores-wait", ["false", "true"], "memory.store-slots = 0"),
    ("memory.store-slots", ["1", "2"], "memory.stores-wait = false"),
    ("memory.fetch-miss-step", ["0", "5"], ""),
    ("memory.fetch-fill", ["0", "6"], ""),
    ("memory.line-words", ["0", "4"], ""),
    ("memory.request", ["0", "3"], "memory.line-words = 4"),
    ("memory.fetch-request", ["0", "9"], "memory.line-words = 4"),
    ("memory.tag-update", ["false", "true"], ""),
    ("memory.device-posted", ["false", "true"], "memory.device = 9"),
    ("operation.arithmetic.cycles", ["1", "3"], ""),
    ("operation.shift.cycles", ["1", "3"], ""),
    ("operation.shift.step", ["0", "8"], "operation.shift.cycles = 1"),
    ("operation.load.cycles", ["1", "3"], ""),
    ("operation.store.cycles", ["1", "3"], ""),
    ("operation.branch.cycles", ["1", "3"], ""),
    ("operation.jump.cycles", ["1", "3"], ""),
    ("operation.indirect.cycles", ["1", "9"], ""),
    ("operation.fence-i.cycles", ["1", "600"], ""),
    ("operation.multiply.cycles", ["2", "9"], ""),
    ("operation.multiply-high.cycles", ["2", "9"], ""),
    ("operation.divide.cycles", ["9", "21"], ""),
    ("operation.divide.by-zero", ["0", "5"], "operation.divide.cycles = 21; operation.divide.digits = false"),
    ("operation.divide.digits", ["false", "true"], "operation.divide.cycles = 3"),
    ("operation.float.cycles", ["3", "9"], ""),
    ("operation.float-multiply.cycles", ["3", "9"], ""),
    ("operation.float-divide.cycles", ["9", "21"], ""),
    ("operation.float-divide.digits", ["false", "true"], "operation.float-divide.cycles = 9"),
    ("operation.float-divide-single.cycles", ["28", "400"], ""),
    ("operation.float-move.cycles", ["1", "9"], ""),
    ("operation.float-convert.cycles", ["1", "9"], ""),
    ("operation.float-to-integer.cycles", ["1", "9"], ""),
    ("operation.double.cycles", ["3", "9"], ""),
    ("operation.atomic.cycles", ["1", "9"], ""),
    ("operation.multiply.pipelined", ["false", "true"], "operation.multiply.cycles = 4"),
    (
        "operation.multiply.late",
        ["false", "true"],
        "operation.multiply.cycles = 4; operation.multiply.pipelined = false",
    ),
    (
        "operation.multiply.use",
        ["0", "3"],
        "operation.multiply.cycles = 1; operation.multiply.pipelined = false; operation.multiply.late = false",
    ),
    ("operation.iterative", ["8", "1"], ""),
    ("branch.predictor", ["'not-taken'", "'backward-taken'"], "branch.mispredict = 2"),
    ("branch.counters", ["128", "8"], "branch.predictor = 'bimodal'; branch.mispredict = 2"),
    ("branch.btb", ["8", "1"], "branch.predictor = 'backward-taken'; branch.indirect = 2"),
    ("branch.return-stack", ["4", "0"], "branch.indirect = 2"),
    ("branch.settle", ["0", "2"], ""),
    ("branch.mispredict", ["1", "3"], ""),
    ("branch.taken", ["0", "2"], "branch.predictor = 'backward-taken'"),
    ("branch.jump", ["0", "3"], ""),
    ("branch.indirect", ["0", "3"], ""),
    ("trap.exception", ["2", "5"], ""),
    ("trap.interrupt", ["2", "5"], ""),
    ("trap.interrupt-delay", ["0", "9"], ""),
    ("trap.return", ["2", "5"], ""),
    ("trap.return-fault", ["0", "30"], ""),
    ("trap.ecall-reads", ["false", "true"], ""),
    ("pipeline.kind", ["'five-stage'", "'two-stage'"], ""),
    ("pipeline.forwarding", ["true", "false"], ""),
    ("pipeline.load-use", ["1", "3"], ""),
    ("pipeline.zero-waits", ["false", "true"], ""),
    ("pipeline.memory-wait", ["0", "2"], "pipeline.kind = 'two-stage'"),
    ("pipeline.store-data-late", ["false", "true"], ""),
    ("pipeline.fetch-width", ["0", "4"], ""),
    ("pipeline.data-width", ["0", "4"], ""),
    ("system.csr-use", ["0", "3"], ""),
    ("system.csr-drain", ["false", "true"], ""),
    ("system.csr-flush", ["0", "3"], ""),
    ("system.csr-flush-of.status", ["0", "5"], "system.csr-flush = 1"),
    ("system.csr-flush-of.enable", ["0", "5"], "system.csr-flush = 1"),
    ("system.csr-flush-of.pending", ["0", "5"], "system.csr-flush = 1"),
    ("system.csr-flush-of.vector", ["0", "5"], "system.csr-flush = 1"),
    ("system.csr-flush-of.scratch", ["0", "5"], "system.csr-flush = 1"),
    ("system.csr-flush-of.epc", ["0", "5"], "system.csr-flush = 1"),
    ("system.csr-flush-of.cause", ["0", "5"], "system.csr-flush = 1"),
    ("system.csr-flush-of.value", ["0", "5"], "system.csr-flush = 1"),
    ("system.csr-flush-of.translation", ["0", "5"], "system.csr-flush = 1"),
    ("system.csr-flush-of.protection", ["0", "5"], "system.csr-flush = 1"),
    ("system.csr-flush-of.float", ["0", "5"], "system.csr-flush = 1"),
    ("system.csr-clear-in-place", ["false", "true"], "system.csr-flush = 3"),
    ("system.satp-empties", ["false", "true"], "system.asid-bits = 0; itlb.entries = 16; dtlb.entries = 16"),
    ("system.fence-i", ["0", "5"], ""),
    ("system.sfence-vma", ["0", "5"], ""),
    ("system.wfi", ["0", "5"], ""),
    ("front.queue", ["4", "1"], ""),
    ("scoreboard.entries", ["8", "1"], ""),
    ("scoreboard.commits", ["2", "1"], ""),
    ("scoreboard.load", ["2", "4"], ""),
    ("scoreboard.walk", ["0", "3"], ""),
    ("scoreboard.atomic", ["1", "9"], ""),
    ("stores.queue", ["4", "1"], "stores.words = 1"),
    ("stores.words", ["8", "1"], ""),
    ("stores.writes", ["4", "1"], ""),
    ("stores.answer", ["1", "9"], ""),
];

/// A file with these keys, of which later ones replace earlier ones. Those that the design does not read are left out, but for
/// `key`.
fn core(base: &str, design: Design, keys: &[&str], key: &str) -> Result<Core, String> {
    // An operation is nothing without its cycles.
    let parts: Vec<&str> = key.split('.').collect();
    let cycles = format!("operation.{}.cycles", parts[1.min(parts.len() - 1)]);
    let mut lines = BTreeMap::new();
    for line in keys.iter().flat_map(|keys| keys.split(';')).map(str::trim).filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(" = ").unwrap();
        if name == key || design.reads(name) {
            lines.insert(name, value);
        }
    }
    if parts.len() == 3 && parts[0] == "operation" {
        lines.entry(&cycles).or_insert("1");
    }
    let text: String = lines.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
    let text = format!("base = '{base}'\n{text}");
    Core::from_toml(&text).map(Core::with_fault).map_err(|error| error.to_string())
}

/// Starts a program in a machine that executes for a core; yields its code, too.
type Start = dyn Fn(&Core) -> (Machine, Code);

/// A program.
struct Program(Box<Start>);

impl Program {
    /// An image of memory.
    fn new(isa: Isa, image: Vec<u8>) -> Self {
        Program(Box::new(move |core| {
            let (machine, ram_bytes) = (MachineKind::Virt, 1 << 20);
            let config = Config { isa, machine, ram_bytes, misaligned: true, ..core.config() };
            let mut machine = Machine::new(config).unwrap();
            machine.write_memory(BASE, &image).unwrap();
            (machine, Code::new(isa, vec![(BASE, image.clone())]))
        }))
    }

    fn random(isa: &str, mode: Mode, seed: u64) -> Self {
        let isa = isa.parse().unwrap();
        Program::new(isa, random::program(&mut Rng(seed), isa, mode, 120))
    }

    fn figures(&self, core: &Core) -> (u64, Ledger, TimingCounts) {
        let (mut machine, code) = self.0(core);
        let mut timed = Timed::new(core, ByPrivilege, ()).unwrap().with_code(&code);
        machine.run(4_000, &mut timed);
        // What has enabled interrupts takes one.
        let line = timed.cycles() + 7;
        let _ = timed.interrupt_at(&mut machine, line, 60);
        machine.run(20, &mut timed);
        (timed.cycles(), timed.ledger().clone(), timed.counts())
    }
}

/// S-mode under Sv39 with one large page: loads whose pages are missing, which M-mode skips.
fn faults() -> Program {
    const TABLE: i64 = 0x4000;
    let mut a = Asm::default();
    a.op(Op::Auipc, 3, 0, 0, 0)
        .op(Op::Addi, 4, 3, 0, 0x100)
        .csrw(0x305, 4)
        .op(Op::Addi, 4, 3, 0, 0x80)
        .csrw(0x341, 4);
    a.op(Op::Lui, 5, 0, 0, TABLE).op(Op::Add, 5, 5, 3, 0).op(Op::Srli, 5, 5, 0, 12).op(Op::Addi, 6, 0, 0, 8);
    a.op(Op::Slli, 6, 6, 0, 60)
        .op(Op::Or, 5, 5, 6, 0)
        .csrw(0x180, 5)
        .op(Op::Addi, 5, 0, 0, -1)
        .csrw(0x3b0, 5);
    a.op(Op::Addi, 5, 0, 0, 0x1f).csrw(0x3a0, 5).op(Op::Lui, 6, 0, 0, 0x1000).op(Op::Addi, 6, 6, 0, -0x800);
    a.csrw(0x300, 6).op(Op::Mret, 0, 0, 0, 0);
    assert!(a.here() <= 0x80);
    a.0.resize(0x80, 0);
    for at in 0..6 {
        a.op(Op::Ld, 7, 0, 0, 8 * at).op(Op::Sd, 0, 0, 7, 8 * at);
    }
    a.op(Op::Jal, 0, 0, 0, 0);
    a.0.resize(0x100, 0);
    a.csrr(30, 0x341).op(Op::Addi, 30, 30, 0, 4).csrw(0x341, 30).op(Op::Mret, 0, 0, 0, 0);
    a.0.resize(TABLE as usize + 16, 0);
    a.0.extend((BASE >> 2 | 0xcf).to_le_bytes());
    Program::new("rv64gc".parse().unwrap(), a.0)
}

/// Pages of 4 KiB, some of which move, in two address spaces.
fn pages() -> Program {
    Program(Box::new(|_| (restless(1), Code::new("rv64gc".parse().unwrap(), Vec::new()))))
}

/// What random programs do not do: it writes each kind of register, loads from a device, uses values of loads at once,
/// traps behind an instruction that sets `a7`, waits for an interrupt that is pending, and then enables interrupts.
fn unusual() -> Program {
    const LOOP: i64 = 0x200;
    const HANDLER: i64 = 0x700;
    let mut a = Asm::default();
    a.op(Op::Auipc, 3, 0, 0, 0).op(Op::Addi, 4, 3, 0, HANDLER).csrw(0x305, 4);
    a.op(Op::Lui, 2, 0, 0, 0x1000).op(Op::Add, 2, 2, 3, 0).op(Op::Lui, 6, 0, 0, 0x6000);
    a.op(Op::Csrrs, 0, 6, 0, 0x300).op(Op::Lui, 9, 0, 0, 0x1000_0000).op(Op::Addi, 20, 0, 0, 8);
    // All kinds but the vector, which stays.
    for (csr, value) in [
        (0x304, 0),
        (0x344, 0),
        (0x340, 4),
        (0x341, 4),
        (0x342, 4),
        (0x343, 4),
        (0x180, 0),
        (0x3b0, 4),
        (1, 0),
    ] {
        a.csrw(csr, value);
    }
    a.csrw(0x305, 4).csrw(0x300, 6).op(Op::Csrrc, 0, 9, 0, 0x340).csrr(10, 0x340).op(Op::Add, 11, 10, 10, 0);
    let mut b = Asm::default();
    b.op(Op::Ld, 0, 2, 0, 8).op(Op::Add, 10, 0, 0, 0);
    b.op(Op::Ld, 10, 2, 0, 16).op(Op::Sd, 0, 2, 10, 24).op(Op::Ld, 10, 2, 0, 29);
    b.op(Op::Lbu, 10, 9, 0, 5).op(Op::Add, 11, 10, 10, 0).op(Op::Lbu, 10, 9, 0, 5);
    b.op(Op::Mul, 12, 11, 20, 0).op(Op::Add, 13, 12, 12, 0).op(Op::Mul, 12, 11, 20, 0).op(
        Op::Mul,
        13,
        11,
        20,
        0,
    );
    b.op(Op::Mulhu, 12, 11, 20, 0).op(Op::Div, 12, 20, 0, 0).op(Op::Div, 12, 3, 20, 0).op(
        Op::Sll,
        12,
        3,
        20,
        0,
    );
    b.op(Op::FaddD, 1, 2, 3, 0).op(Op::FmulD, 1, 1, 3, 0).op(Op::FmulS, 1, 1, 3, 0).op(Op::FdivS, 1, 1, 3, 0);
    b.op(Op::FdivD, 1, 2, 3, 0).op(Op::FsgnjD, 1, 1, 1, 0).op(Op::FmvXD, 12, 1, 0, 0).op(
        Op::Add,
        12,
        12,
        12,
        0,
    );
    b.op(Op::FeqD, 12, 1, 2, 0).op(Op::Add, 12, 12, 12, 0).op(Op::FcvtLD, 12, 1, 0, 0).op(
        Op::Add,
        12,
        12,
        12,
        0,
    );
    // Two calls of one function, and two jumps to registers.
    b.op(Op::Jal, 1, 0, 0, 12).op(Op::Jal, 1, 0, 0, 8).op(Op::Jal, 0, 0, 0, 8).op(Op::Jalr, 0, 1, 0, 0);
    b.op(Op::Auipc, 22, 0, 0, 0).op(Op::Jalr, 0, 22, 0, 8).op(Op::Auipc, 22, 0, 0, 0).op(
        Op::Jalr,
        0,
        22,
        0,
        8,
    );
    // Branches that few counters take for one another.
    for _ in 0..2 {
        b.op(Op::Beq, 0, 0, 0, 8).op(Op::Addi, 23, 23, 0, 1).op(Op::Addi, 23, 23, 0, 1).op(
            Op::Addi,
            23,
            23,
            0,
            1,
        );
        b.op(Op::Bne, 0, 0, 0, 8).op(Op::Addi, 23, 23, 0, 1).op(Op::Addi, 23, 23, 0, 1).op(
            Op::Addi,
            23,
            23,
            0,
            1,
        );
    }
    b.op(Op::AmoaddD, 12, 2, 20, 0).op(Op::FenceI, 0, 0, 0, 0).op(Op::SfenceVma, 0, 0, 0, 0);
    for at in 0..12 {
        b.op(Op::Sd, 0, 2, 20, 256 * (at % 6) + 8 * at);
    }
    b.op(Op::Addi, 17, 0, 0, 93).op(Op::Ecall, 0, 0, 0, 0);
    b.op(Op::Addi, 20, 20, 0, -1);
    let back = -(b.here() as i64);
    b.op(Op::Bne, 0, 20, 0, back);
    // A software interrupt is pending that is enabled on its own, but not as a whole.
    b.op(Op::Lui, 14, 0, 0, 0x200_0000).op(Op::Addi, 15, 0, 0, 1).op(Op::Addi, 16, 0, 0, 8).csrw(0x304, 16);
    b.op(Op::Sw, 0, 14, 15, 0).op(Op::Wfi, 0, 0, 0, 0).op(Op::Sw, 0, 14, 0, 0);
    // The external one, as a whole, in an endless loop.
    b.op(Op::Lui, 16, 0, 0, 0x1000).op(Op::Addi, 16, 16, 0, -0x800).csrw(0x304, 16);
    b.op(Op::Csrrsi, 0, 8, 0, 0x300).op(Op::Addi, 21, 21, 0, 1).op(Op::Jal, 0, 0, 0, -4);
    b.op(Op::Jal, 0, 0, 0, -8).op(Op::Jal, 0, 0, 0, -12);
    let jump = LOOP - a.here() as i64;
    a.op(Op::Jal, 0, 0, 0, jump);
    a.0.resize(LOOP as usize, 0);
    a.0.extend(b.0);
    assert!(a.here() <= HANDLER as u64);
    a.0.resize(HANDLER as usize, 0);
    // It skips what trapped.
    a.csrr(30, 0x341).op(Op::Addi, 30, 30, 0, 4).csrw(0x341, 30).op(Op::Mret, 0, 0, 0, 0);
    Program::new("rv64gc".parse().unwrap(), a.0)
}

/// Designs, and a core of each.
const CORES: [(&str, Design); 6] = [
    ("ripes-5stage", Design::Textbook),
    ("ibex", Design::Ibex),
    ("picorv32", Design::Picorv32),
    ("vexriscv", Design::Vexriscv),
    ("rocket", Design::Rocket),
    ("cva6", Design::Cva6),
];

#[test]
fn every_key_changes_a_figure() {
    let programs = [
        unusual(),
        pages(),
        faults(),
        Program::random("rv64gc", Mode::Sv39, 4),
        Program::random("rv64gc", Mode::Machine, 5),
        Program::random("rv32gc", Mode::Sv32, 6),
    ];
    let mut without = Vec::new();
    for (base, design) in CORES {
        for &(key, values, with) in ROWS.iter().filter(|(key, ..)| design.reads(key)) {
            let [one, other] =
                values.map(|value| core(base, design, &[SMALL, with, &format!("{key} = {value}")], key));
            let unread = UNREAD.iter().any(|&(core, unread, _)| core == base && unread == key);
            match (one, other) {
                (Ok(one), Ok(other)) => {
                    let differs = programs.iter().any(|it| it.figures(&one) != it.figures(&other));
                    if differs == unread {
                        without.push(format!(
                            "{base}: {key} changes {}",
                            if differs { "a figure" } else { "nothing" }
                        ));
                    }
                }
                (Err(error), _) | (_, Err(error)) => without.push(format!("{base}: {key}: {error}")),
            }
        }
    }
    assert!(without.is_empty(), "{} keys:\n{}", without.len(), without.join("\n"));
}

/// The names of all keys are in the lists above: a new one cannot be forgotten.
#[test]
fn every_key_is_tried() {
    let fields = [include_str!("../../src/keys.rs"), include_str!("../../src/csr.rs")];
    let fields = fields.iter().flat_map(|text| text.lines()).filter_map(|line| line.strip_prefix("    pub "));
    let names = fields.filter_map(|line| line.split_once(':')).map(|(name, _)| name.replace('_', "-"));
    let tried: Vec<&str> = ROWS.iter().map(|row| row.0).chain(WITHOUT_EFFECT.map(|(key, _)| key)).collect();
    for name in names {
        let name = name.trim_end_matches('-');
        assert!(tried.iter().any(|key| key.split('.').any(|part| part == name)), "{name}");
    }
}
