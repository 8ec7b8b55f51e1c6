//! How fast the machine is with caches, by processor time: instructions per microsecond of each design, one after
//! the other and round by round, so that a slow moment of the host affects all of them; caches of other shapes beside
//! the machine; and a sweep of many geometries over a million fetches. With a third argument only the designs whose
//! names begin with it.
//!
//! `cargo run --release -p tollgate-riscv --example cache [ROUNDS] [STEPS] [DESIGN]`
#![allow(clippy::print_stdout)]

use tollgate_riscv::cache::{Cache, Policy, Sweep, WritePolicy};
use tollgate_riscv::timing::{Core, Fast};
use tollgate_riscv::{Access, Config, Elf, Machine, Observer, Retired, Several};

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

/// The addresses of the first fetches.
struct Addresses(Vec<u64>);

impl Observer for Addresses {
    const RETIRE: bool = true;
    fn retire(&mut self, retired: &Retired) {
        self.0.push(retired.pc);
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

const MIX: &[u8] = include_bytes!("../../../guests/riscv/bench/mix.elf");

/// Instructions in a run: each part of the program is in the first 100 million.
fn steps() -> u64 {
    argument(2).unwrap_or(100_000_000)
}

/// Instructions per microsecond of a new machine with an observer.
fn speed<O: Observer>(elf: &Elf, observer: &mut O, steps: u64) -> f64 {
    let mut machine = Machine::new(Config::default()).expect("the default configuration is valid");
    machine.load(elf).expect("the program fits");
    let start = cpu_ns();
    machine.run(steps, observer);
    machine.instret() as f64 / ((cpu_ns() - start) as f64 / 1000.0)
}

fn cache(geometry: &str, policy: Policy) -> Cache {
    let geometry = geometry.parse().expect("a geometry");
    Cache::new(geometry, policy, WritePolicy::default()).expect("a cache")
}

/// A design, and one run of it: the speed, and what shows that it did its work.
type Design = (&'static str, fn(&Elf) -> (f64, String));

const DESIGNS: [Design; 4] = [
    ("functional", |elf| (speed(elf, &mut (), steps()), String::new())),
    ("fetches 64:4:64 lru", |elf| {
        let mut fetches = Fetches(cache("64:4:64", Policy::Lru));
        let speed = speed(elf, &mut fetches, steps());
        (speed, format!("{} of {} missed", fetches.0.counts().misses(), fetches.0.counts().reads))
    }),
    ("caches and TLBs counted", timed::<false>),
    ("five stages", timed::<true>),
];

/// Both caches and both translation buffers, and the pipeline where `PIPE` says so.
fn timed<const PIPE: bool>(elf: &Elf) -> (f64, String) {
    let core = Core::from_toml(include_str!("bench.toml")).expect("the core is valid");
    let mut fast = Fast::<PIPE>::new(&core).expect("the core is valid");
    let speed = speed(elf, &mut fast, steps());
    let charged = if PIPE {
        format!("; {} cycles, {} charged", fast.cycles(), fast.ledger().total())
    } else {
        String::new()
    };
    let counts = fast.counts().memory;
    (speed, format!("{} lines missed, data {}{charged}", counts.l1i_misses, counts.l1d_misses))
}

/// Caches of another shape, instruction by instruction.
fn watched<const D: bool>(elf: &Elf, geometry: &str, policy: Policy) -> (f64, String) {
    let mut watch = Watch::<D> { icache: cache(geometry, policy), dcache: cache(geometry, policy) };
    let speed = speed(elf, &mut watch, steps() / 4);
    (speed, format!("{} missed, data {}", watch.icache.counts().misses(), watch.dcache.counts().misses()))
}

fn show(name: &str, speeds: &mut [f64], detail: &str) {
    speeds.sort_by(f64::total_cmp);
    let (median, least, most) = (speeds[speeds.len() / 2], speeds[0], speeds[speeds.len() - 1]);
    println!("{name:24} {median:6.0} MIPS (median of {}, {least:.0} to {most:.0})  {detail}", speeds.len());
}

fn main() {
    let rounds: usize = argument(1).unwrap_or(5).max(1);
    let elf = Elf::parse(MIX).expect("an ELF file");

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

    for (geometry, policy) in [("64:4:64", Policy::Lru), ("64:4:64", Policy::Plru), ("8:1:8", Policy::Lru)] {
        for (data, run) in
            [("one by one", watched::<false> as fn(&_, &_, _) -> _), ("with data", watched::<true>)]
        {
            let (speed, detail) = run(&elf, geometry, policy);
            show(&format!("{data} {geometry} {policy}"), &mut [speed], &detail);
        }
    }

    let mut addresses = Addresses(Vec::new());
    speed(&elf, &mut addresses, 1_000_000);
    let start = cpu_ns();
    let mut sweep = Sweep::new(&[4, 8, 16, 32, 64, 128], 1024, 16).expect("a sweep");
    for &address in &addresses.0 {
        sweep.access(address);
    }
    let seconds = (cpu_ns() - start) as f64 / 1e9;
    println!(
        "sweep of {} geometries over {} fetches: {seconds:.3} s",
        sweep.all().count(),
        addresses.0.len()
    );
}
