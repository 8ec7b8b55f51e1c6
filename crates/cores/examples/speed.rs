//! How fast the machine is, by processor time, and with two threads by the time that passes: instructions per microsecond of
//! each design, one after the other and round by round, so that a slow moment of the host affects all of them. Then, unless a
//! design is named: the time to start and to trap, caches of other shapes, and a sweep of many geometries over a million fetches.
//!
//! `cargo run --release -p tollgate-cores --example speed [ROUNDS] [STEPS] [DESIGN] [PROGRAM]`
//!
//! Only designs whose names begin with DESIGN run, so that a profiler sees one kind of run; PROGRAM is `mix`, `float` or a file.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use tollgate_cores::{ByPrivilege, CacheCounter, Core, Timed};
use tollgate_riscv::cache::{Cache, Policy, Sweep, WritePolicy};
use tollgate_riscv::{
    Access, Config, Elf, Insn, Machine, Observer, Op, Operands, Retired, Several, Stop, aside,
};

/// An instruction cache, every fetch counted, from decoded blocks.
struct Fetches(Cache);

impl Observer for Fetches {
    const BLOCKS: bool = true;
    #[inline(always)]
    fn retire(&mut self, retired: &Retired) {
        self.0.access(retired.pc, false);
    }
    #[inline(always)]
    fn several(&mut self, several: &Several) {
        for pass in several.passes {
            for insn in several.insns(pass) {
                self.0.access(several.outside(insn.pc), false);
            }
        }
    }
}

/// An instruction cache, and a data cache where `D` says so.
struct Watch<const D: bool> {
    icache: Cache,
    dcache: Cache,
}

impl<const D: bool> Observer for Watch<D> {
    const RETIRE: bool = true;
    const MEMORY: bool = D;
    #[inline(always)]
    fn retire(&mut self, retired: &Retired) {
        self.icache.access(retired.pc, false);
    }
    #[inline(always)]
    fn access(&mut self, access: &Access) {
        self.dcache.access(access.pa, access.store);
    }
}

/// The addresses of the first fetches, and a count of the accesses: what the hooks cost.
#[derive(Default)]
struct Addresses {
    fetches: Vec<u64>,
    accesses: u64,
}

/// Fetches of the sweep.
const FETCHES: usize = 1_000_000;

impl Observer for Addresses {
    const RETIRE: bool = true;
    const MEMORY: bool = true;
    fn retire(&mut self, retired: &Retired) {
        if self.fetches.len() < FETCHES {
            self.fetches.push(retired.pc);
        }
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

/// The argument in a place, if it is one.
fn argument<T: std::str::FromStr>(place: usize) -> Option<T> {
    std::env::args().nth(place).and_then(|a| a.parse().ok())
}

/// Instructions in a run: each part of a program is in the first 100 million.
fn steps() -> u64 {
    argument(2).unwrap_or(100_000_000)
}

fn booted(elf: &Elf) -> Machine {
    let mut machine = Machine::new(Config::default()).expect("the default configuration is valid");
    machine.load(elf).expect("the program fits");
    machine
}

/// Instructions per microsecond of a new machine that `run` runs.
fn speed(elf: &Elf, run: impl FnOnce(&mut Machine) -> Stop) -> f64 {
    let mut machine = booted(elf);
    let start = cpu_ns();
    run(&mut machine);
    machine.instret() as f64 / ((cpu_ns() - start) as f64 / 1000.0)
}

fn cache(geometry: &str, policy: Policy) -> Cache {
    let geometry = geometry.parse().expect("a geometry");
    Cache::new(geometry, policy, WritePolicy::default()).expect("a cache")
}

/// A design, and one run of it: the speed, and what shows that it did its work.
type Design = (&'static str, fn(&Elf) -> (f64, String));

const DESIGNS: [Design; 12] = [
    ("functional", |elf| (speed(elf, |machine| machine.run(steps(), &mut ())), String::new())),
    ("fetches 64:4:64 lru", |elf| {
        let mut fetches = Fetches(cache("64:4:64", Policy::Lru));
        let speed = speed(elf, |machine| machine.run(steps(), &mut fetches));
        (speed, format!("{} of {} missed", fetches.0.counts().misses(), fetches.0.counts().reads))
    }),
    ("caches and TLBs counted", |elf| {
        let mut counter = CacheCounter::new(&bench()).expect("the core is valid");
        let speed = speed(elf, |machine| machine.run(steps(), &mut counter));
        let counts = counter.counts();
        (speed, format!("{} lines missed, data {}", counts.l1i_misses, counts.l1d_misses))
    }),
    ("five stages", |elf| on(elf, &bench(), false)),
    ("ripes-5stage", |elf| on(elf, &core("ripes-5stage"), false)),
    ("ibex", |elf| on(elf, &core("ibex"), false)),
    ("vexriscv", |elf| on(elf, &core("vexriscv"), false)),
    ("rocket", |elf| on(elf, &core("rocket"), false)),
    ("rocket on two threads", |elf| on(elf, &core("rocket"), true)),
    ("cva6", |elf| on(elf, &core("cva6"), false)),
    ("observed", |elf| {
        let mut addresses = Addresses::default();
        let speed = speed(elf, |machine| machine.run(steps() / 10, &mut addresses));
        (speed, format!("{} accesses", addresses.accesses))
    }),
    ("reference", |elf| (speed(elf, |machine| machine.run_reference(steps() / 10, &mut ())), String::new())),
];

/// Five stages with both caches and both translation buffers.
fn bench() -> Core {
    Core::from_toml(include_str!("bench.toml")).expect("the core is valid")
}

fn core(name: &str) -> Core {
    Core::preset(name).expect("a preset")
}

/// A core with its whole ledger; the machine in a thread of its own, if `apart`.
fn on(elf: &Elf, core: &Core, apart: bool) -> (f64, String) {
    let timed = Timed::new(core, ByPrivilege, ()).expect("the core is valid");
    let mut timed = timed.with_code(&booted(elf).code());
    let speed = if apart {
        let mut machine = booted(elf);
        let start = Instant::now();
        aside(&mut timed, |timed| machine.run(steps(), timed));
        machine.instret() as f64 / (start.elapsed().as_nanos() as f64 / 1000.0)
    } else {
        speed(elf, |machine| machine.run(steps(), &mut timed))
    };
    let cycles = timed.cycles();
    assert_eq!(timed.ledger().total(), cycles, "every cycle is in the ledger");
    let counts = timed.counts().memory;
    (speed, format!("{} lines missed, data {}; {cycles} cycles", counts.l1i_misses, counts.l1d_misses))
}

/// Caches of another shape, instruction by instruction.
fn watched<const D: bool>(elf: &Elf, geometry: &str, policy: Policy) -> (f64, String) {
    let mut watch = Watch::<D> { icache: cache(geometry, policy), dcache: cache(geometry, policy) };
    let speed = speed(elf, |machine| machine.run(steps() / 4, &mut watch));
    (speed, format!("{} missed, data {}", watch.icache.counts().misses(), watch.dcache.counts().misses()))
}

/// Nanoseconds of an endless loop's system call that does nothing: `ecall` from U-mode, the handler skips it and returns.
fn trap() -> f64 {
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
        booted(elf).run(200, &mut ());
    }
    (cpu_ns() - begin) as f64 / 200.0 / 1000.0
}

fn show(name: &str, speeds: &mut [f64], detail: &str) {
    speeds.sort_by(f64::total_cmp);
    let (median, least, most) = (speeds[speeds.len() / 2], speeds[0], speeds[speeds.len() - 1]);
    println!("{name:24} {median:6.0} MIPS (median of {}, {least:.0} to {most:.0})  {detail}", speeds.len());
}

fn main() {
    let rounds: usize = argument(1).unwrap_or(5).max(1);
    let program = match argument::<String>(4).as_deref() {
        None | Some("mix") => include_bytes!("../../../guests/riscv/bench/mix.elf").to_vec(),
        Some("float") => include_bytes!("../../../guests/riscv/bench/float.elf").to_vec(),
        Some(path) => std::fs::read(path).expect("a program's file"),
    };
    let elf = Elf::parse(&program).expect("an ELF file");

    let only: Option<String> = argument(3);
    let wanted = |name: &str| only.as_ref().is_none_or(|only| name.starts_with(only.as_str()));
    let designs: Vec<&Design> = DESIGNS.iter().filter(|(name, _)| wanted(name)).collect();
    let mut speeds = vec![Vec::new(); designs.len()];
    let mut details = vec![String::new(); designs.len()];
    for _ in 0..rounds {
        for (i, (_, run)) in designs.iter().enumerate() {
            let (speed, detail) = run(&elf);
            speeds[i].push(speed);
            details[i] = detail;
        }
    }
    for (i, (name, _)) in designs.iter().enumerate() {
        show(name, &mut speeds[i], &details[i]);
    }
    if only.is_some() {
        return;
    }

    println!("start to the first 200 instructions: {:.0} us", start_up(&elf));
    println!("a trap there and back, 8 instructions: {:.0} ns", trap());
    for (geometry, policy) in [("64:4:64", Policy::Lru), ("64:4:64", Policy::Plru), ("8:1:8", Policy::Lru)] {
        for (data, run) in
            [("one by one", watched::<false> as fn(&_, &_, _) -> _), ("with data", watched::<true>)]
        {
            let (speed, detail) = run(&elf, geometry, policy);
            show(&format!("{data} {geometry} {policy}"), &mut [speed], &detail);
        }
    }

    let mut addresses = Addresses::default();
    booted(&elf).run(FETCHES as u64, &mut addresses);
    let start = cpu_ns();
    let mut sweep = Sweep::new(&[4, 8, 16, 32, 64, 128], 1024, 16).expect("a sweep");
    for &address in &addresses.fetches {
        sweep.access(address);
    }
    let seconds = (cpu_ns() - start) as f64 / 1e9;
    let (shapes, fetches) = (sweep.all().count(), addresses.fetches.len());
    println!("sweep of {shapes} geometries over {fetches} fetches: {seconds:.3} s");
}
