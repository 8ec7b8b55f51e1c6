//! How fast the machine is: instructions per microsecond of processor time, median of several runs.
//!
//! `cargo run --release -p tollgate-riscv --example mips [RUNS] [--only KIND] [--program NAME] [--steps N] [--detail]`
//!
//! With `--only` nothing else is measured, so that a profiler sees one kind of run.
#![allow(clippy::print_stdout)]

use tollgate_riscv::timing::{Core, Fast};
use tollgate_riscv::{Access, Config, Elf, Insn, Machine, Observer, Op, Operands, Retired, Stop};

/// Counts what it sees, so that the cost of the hooks shows.
#[derive(Default)]
struct Counter {
    instructions: u64,
    accesses: u64,
}

impl Observer for Counter {
    const RETIRE: bool = true;
    const MEMORY: bool = true;
    fn retire(&mut self, _: &Retired) {
        self.instructions += 1;
    }
    fn access(&mut self, _: &Access) {
        self.accesses += 1;
    }
}

/// Nanoseconds that this thread has run. Processor time, not wall-clock: others may use the machine.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|v| v.parse().ok()).unwrap_or(0)
}

/// The argument behind `key`.
fn argument(key: &str) -> Option<String> {
    std::env::args().skip_while(|a| a != key).nth(1)
}

/// How many steps a run may take: to the end, unless `--steps` says otherwise.
fn steps() -> u64 {
    argument("--steps").and_then(|n| n.parse().ok()).unwrap_or(1 << 40)
}

fn run<O: Observer>(elf: &Elf, observer: &mut O, reference: bool) -> (u64, f64, i32) {
    let mut machine = Machine::new(Config::default()).expect("the default configuration is valid");
    machine.load(elf).expect("the program fits");
    let start = cpu_ns();
    let stop =
        if reference { machine.run_reference(20_000_000, observer) } else { machine.run(steps(), observer) };
    let time = (cpu_ns() - start) as f64 / 1000.0;
    let code = if let Stop::Exit { code } = stop { code } else { 0 };
    (machine.instret(), time, code)
}

/// What the timing figures are for.
const CORE: &str = include_str!("bench.toml");

/// With a core attached; counting only caches and translation buffers when not `PIPE`.
fn timed<const PIPE: bool>(elf: &Elf) -> (u64, f64, i32) {
    let core = Core::from_toml(CORE).expect("the core is valid");
    let mut machine = Machine::new(Config::default()).expect("the default configuration is valid");
    machine.load(elf).expect("the program fits");
    let mut fast = Fast::<PIPE>::new(&core).expect("the core is valid");
    let start = cpu_ns();
    let stop = machine.run(steps(), &mut fast);
    let time = (cpu_ns() - start) as f64 / 1000.0;
    if PIPE {
        assert_eq!(fast.ledger().total(), fast.cycles(), "every cycle is in the ledger");
    }
    if std::env::args().any(|a| a == "--detail") {
        println!("{:?} memo {:?} {} cycles", fast.counts(), fast.memo_counts(), fast.cycles());
    }
    let code = if let Stop::Exit { code } = stop { code } else { 0 };
    (machine.instret(), time, code)
}

/// An endless loop of a system call that does nothing: `ecall` from U-mode, the handler skips it and returns.
fn traps() -> f64 {
    const BASE: u64 = 0x8000_0000;
    let op = |op, rd, rs1, imm| Insn::encode(op, Operands { rd, rs1, imm, ..Default::default() });
    let (mtvec, mepc) = (0x305, 0x341);
    let user = [op(Op::Ecall, 0, 0, 0), op(Op::Addi, 7, 7, 1), op(Op::Jal, 0, 0, -8)];
    let handler = [
        op(Op::Csrrw, 5, 5, 0x340),
        op(Op::Csrrs, 5, 0, mepc),
        op(Op::Addi, 5, 5, 4),
        op(Op::Csrrw, 0, 5, mepc),
        op(Op::Csrrw, 5, 5, 0x340),
        op(Op::Mret, 0, 0, 0),
    ];
    let start = [op(Op::Csrrw, 0, 31, mtvec), op(Op::Csrrw, 0, 30, mepc), op(Op::Mret, 0, 0, 0)];
    let mut machine = Machine::new(Config::default()).expect("the default configuration is valid");
    for (at, code) in [(0, &start[..]), (0x100, &handler), (0x200, &user)] {
        let bytes: Vec<u8> = code.iter().flat_map(|w| w.to_le_bytes()).collect();
        machine.write_memory(BASE + at, &bytes).expect("it is in RAM");
    }
    machine.set_x(31, BASE + 0x100);
    machine.set_x(30, BASE + 0x200);
    let begin = cpu_ns();
    machine.run(20_000_000, &mut ());
    (cpu_ns() - begin) as f64 / machine.x(7) as f64
}

/// Microseconds from nothing to the first instructions, on average: the clock's grain is a timer tick.
fn start_up(elf: &Elf) -> f64 {
    let begin = cpu_ns();
    for _ in 0..200 {
        let mut machine = Machine::new(Config::default()).expect("the default configuration is valid");
        machine.load(elf).expect("the program fits");
        machine.run(200, &mut ());
    }
    (cpu_ns() - begin) as f64 / 200.0 / 1000.0
}

fn main() {
    let runs = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(5);
    let programs: [(&str, &[u8]); 2] = [
        ("mix", include_bytes!("../../../guests/riscv/bench/mix.elf")),
        ("float", include_bytes!("../../../guests/riscv/bench/float.elf")),
    ];
    let (only, program) = (argument("--only"), argument("--program"));
    if only.is_none() {
        let elf = Elf::parse(programs[0].1).expect("the image is an ELF file");
        println!("start to the first 200 instructions: {:.0} us", start_up(&elf));
        println!("a trap there and back, 8 instructions: {:.0} ns", traps());
    }
    for (name, bytes) in programs {
        let elf = Elf::parse(bytes).expect("the image is an ELF file");
        for kind in ["blocks", "observed", "counting", "pipeline", "reference"] {
            if only.as_ref().is_some_and(|o| o != kind) || program.as_ref().is_some_and(|p| p != name) {
                continue;
            }
            let mut speeds: Vec<f64> = Vec::new();
            let mut last = (0, 0.0, 0);
            for _ in 0..if matches!(kind, "observed" | "reference") { 1 } else { runs } {
                last = match kind {
                    "blocks" => run(&elf, &mut (), false),
                    "counting" => timed::<false>(&elf),
                    "pipeline" => timed::<true>(&elf),
                    "observed" => run(&elf, &mut Counter::default(), false),
                    _ => run(&elf, &mut (), true),
                };
                speeds.push(last.0 as f64 / last.1);
            }
            speeds.sort_by(f64::total_cmp);
            println!(
                "{name:6} {kind:10} {:6.0} MIPS (median of {}, {:.0} to {:.0})   {} instructions, checksum {:#x}",
                speeds[speeds.len() / 2],
                speeds.len(),
                speeds[0],
                speeds[speeds.len() - 1],
                last.0,
                last.2,
            );
        }
    }
}
