//! The fast engine against the reference interpreter, instruction by instruction, on random programs.

use std::collections::HashSet;

use crate::common::{self, Rng, random};
use random::{BASE, Mode};
use tollgate_riscv::{
    Access, Config, INSTRUCTIONS, Isa, Machine, MachineKind, Observer, Op, Retired, Stop, Trap, TrapReturn,
};

#[derive(Debug, PartialEq)]
enum Event {
    Retire(Retired),
    Access(Access),
    Trap(Trap),
    Return(TrapReturn),
}

#[derive(Default)]
struct Recorder(Vec<Event>);

impl Observer for Recorder {
    const RETIRE: bool = true;
    const MEMORY: bool = true;
    const TRAP: bool = true;
    fn retire(&mut self, r: &Retired) {
        self.0.push(Event::Retire(*r));
    }
    fn access(&mut self, a: &Access) {
        self.0.push(Event::Access(*a));
    }
    fn trap(&mut self, t: &Trap) {
        self.0.push(Event::Trap(*t));
    }
    fn trap_return(&mut self, t: &TrapReturn) {
        self.0.push(Event::Return(*t));
    }
}

/// Observes accesses and traps, so that the engine folds instructions together.
#[derive(Default)]
struct Memory(Vec<Event>);

impl Observer for Memory {
    const MEMORY: bool = true;
    const TRAP: bool = true;
    fn access(&mut self, a: &Access) {
        self.0.push(Event::Access(*a));
    }
    fn trap(&mut self, t: &Trap) {
        self.0.push(Event::Trap(*t));
    }
    fn trap_return(&mut self, t: &TrapReturn) {
        self.0.push(Event::Return(*t));
    }
}

fn machine(isa: Isa, image: &[u8]) -> Machine {
    let config =
        Config { isa, machine: MachineKind::Virt, ram_bytes: 1 << 20, misaligned: true, ..Config::default() };
    let mut m = Machine::new(config).unwrap();
    m.write_memory(BASE, image).unwrap();
    m
}

/// Everything that software could see.
fn state(m: &Machine) -> impl PartialEq + use<> {
    (
        m.pc(),
        (0..32).map(|r| m.x(r)).collect::<Vec<_>>(),
        (0..32).map(|r| m.f(r)).collect::<Vec<_>>(),
        (0..4096).map(|c| m.csr(c)).collect::<Vec<_>>(),
        m.instret(),
        m.read_memory(BASE, 1 << 20).unwrap().to_vec(),
        m.console().to_vec(),
    )
}

const BUDGET: u64 = 400_000;

fn compare(seed: u64, isa: Isa, mode: Mode, seen_ops: &mut HashSet<Op>) {
    let mut rng = Rng(seed);
    let image = random::program(&mut rng, isa, mode, 400);
    let what = format!("seed {seed:#x}, {isa}, {mode:?}");

    let mut reference = machine(isa, &image);
    let mut expected = Recorder::default();
    assert_eq!(reference.run_reference(BUDGET, &mut expected), Stop::Exit { code: 0 }, "{what}");

    seen_ops.extend(
        expected.0.iter().filter_map(|e| if let Event::Retire(r) = e { Some(r.insn.op) } else { None }),
    );

    let mut fast = machine(isa, &image);
    let mut seen = Recorder::default();
    assert_eq!(fast.run(BUDGET, &mut seen), Stop::Exit { code: 0 }, "{what}");
    for (i, (a, b)) in expected.0.iter().zip(&seen.0).enumerate() {
        assert_eq!(a, b, "event {i}, {what}");
    }
    assert_eq!(expected.0.len(), seen.0.len(), "{what}");
    assert!(state(&reference) == state(&fast), "end states differ, {what}");

    // Folded, and in pieces of random length, each of which must stop in the same state.
    let mut folded = machine(isa, &image);
    let mut plain = machine(isa, &image);
    let mut memory = Memory::default();
    for most in [3000, 100].repeat(40) {
        let budget = 1 + rng.below(most);
        assert_eq!(folded.run(budget, &mut memory), plain.run_reference(budget, &mut ()), "{what}");
        assert_eq!((folded.pc(), folded.instret()), (plain.pc(), plain.instret()), "{what}");
        assert!((0..32).all(|r| folded.x(r) == plain.x(r) && folded.f(r) == plain.f(r)), "{what}");
    }
    folded.run(BUDGET, &mut memory);
    assert!(state(&reference) == state(&folded), "end states differ when folded, {what}");
    let expected = expected.0.iter().filter(|e| !matches!(e, Event::Retire(_)));
    assert!(expected.eq(&memory.0), "accesses differ when folded, {what}");
}

#[test]
fn the_fast_engine_is_the_reference_interpreter() {
    let rv64: Isa = "rv64gcb".parse().unwrap();
    let rv32: Isa = "rv32gcb".parse().unwrap();
    let deadline =
        common::fuzz_seconds().map(|s| std::time::Instant::now() + std::time::Duration::from_secs(s));
    let mut seen = HashSet::new();
    let mut seed = if deadline.is_some() { u64::from(std::process::id()) << 32 } else { 1 };
    loop {
        for (isa, mode) in [
            (rv64, Mode::Machine),
            (rv64, Mode::Sv39),
            (rv64, Mode::Sv48),
            (rv32, Mode::Machine),
            (rv32, Mode::Sv32),
        ] {
            compare(seed, isa, mode, &mut seen);
        }
        seed += 1;
        match deadline {
            Some(end) if std::time::Instant::now() < end => {}
            None if seed <= 6 => {}
            _ => break,
        }
    }
    // What never retires, and what the random programs leave to tests of their own.
    let elsewhere = [Op::Ecall, Op::Ebreak, Op::Sret, Op::Wfi, Op::Fence];
    for row in INSTRUCTIONS.iter().filter(|row| row.in_isa(&rv64) || row.in_isa(&rv32)) {
        assert_eq!(seen.contains(&row.op), !elsewhere.contains(&row.op), "{} retired", row.mnemonic);
    }
}
