//! How fast caches are counted, by processor time: instructions per microsecond with an instruction cache
//! beside the machine, and a sweep of many geometries over a million fetches.
//!
//! `cargo run --release -p tollgate-riscv --example cache [RUNS] [STEPS] [GEOMETRY]`
#![allow(clippy::print_stdout)]

use tollgate_riscv::cache::{Cache, Policy, Sweep, WritePolicy};
use tollgate_riscv::{Access, Config, Elf, Machine, Observer, Retired};

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

fn machine(elf: &Elf) -> Machine {
    let mut machine = Machine::new(Config::default()).expect("the default configuration is valid");
    machine.load(elf).expect("the program fits");
    machine
}

fn speed<const D: bool>(elf: &Elf, geometry: &str, policy: Policy) -> (f64, String) {
    let steps = argument(2).unwrap_or(100_000_000);
    let cache = || {
        let geometry = geometry.parse().expect("a geometry");
        Cache::new(geometry, policy, WritePolicy::default()).expect("a cache")
    };
    let mut watch = Watch::<D> { icache: cache(), dcache: cache() };
    let mut machine = machine(elf);
    let start = cpu_ns();
    machine.run(steps, &mut watch);
    let speed = machine.instret() as f64 / ((cpu_ns() - start) as f64 / 1000.0);
    (speed, format!("{} misses, data {}", watch.icache.counts().misses(), watch.dcache.counts().misses()))
}

fn main() {
    let runs: usize = argument(1).unwrap_or(5);
    let elf = Elf::parse(include_bytes!("../../../guests/riscv/bench/mix.elf")).expect("an ELF file");
    for (geometry, policy) in [("64:4:64", Policy::Lru), ("64:4:64", Policy::Plru), ("8:1:8", Policy::Lru)] {
        if argument::<String>(3).is_some_and(|only| only != geometry) {
            continue;
        }
        for data in [false, true] {
            let mut speeds = Vec::new();
            let mut last = String::new();
            for _ in 0..runs {
                let (speed, misses) = if data {
                    speed::<true>(&elf, geometry, policy)
                } else {
                    speed::<false>(&elf, geometry, policy)
                };
                speeds.push(speed);
                last = misses;
            }
            speeds.sort_by(f64::total_cmp);
            println!(
                "{} {geometry} {policy:5} {:6.0} MIPS (median of {runs}, {:.0} to {:.0})   {last}",
                if data { "fetches-and-data" } else { "fetches" },
                speeds[speeds.len() / 2],
                speeds[0],
                speeds[speeds.len() - 1],
            );
        }
    }

    let mut addresses = Addresses(Vec::new());
    machine(&elf).run(1_000_000, &mut addresses);
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
