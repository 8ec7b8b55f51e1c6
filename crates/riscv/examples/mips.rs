//! How fast the machine is: instructions per microsecond of processor time, median of several runs.
//!
//! `cargo run --release -p tollgate-riscv --example mips [RUNS]`
#![allow(clippy::print_stdout)]

use tollgate_riscv::{Access, Config, Elf, Machine, Observer, Retired, Stop};

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

fn run<O: Observer>(elf: &Elf, observer: &mut O, reference: bool) -> (u64, f64, i32) {
    let mut machine = Machine::new(Config::default()).expect("the default configuration is valid");
    machine.load(elf).expect("the program fits");
    let start = cpu_ns();
    let stop =
        if reference { machine.run_reference(20_000_000, observer) } else { machine.run(1 << 40, observer) };
    let time = (cpu_ns() - start) as f64 / 1000.0;
    let code = if let Stop::Exit { code } = stop { code } else { 0 };
    (machine.instret(), time, code)
}

fn main() {
    let runs = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(5);
    let programs: [(&str, &[u8]); 2] = [
        ("mix", include_bytes!("../../../guests/riscv/bench/mix.elf")),
        ("float", include_bytes!("../../../guests/riscv/bench/float.elf")),
    ];
    for (name, bytes) in programs {
        let elf = Elf::parse(bytes).expect("the image is an ELF file");
        for kind in ["blocks", "observed", "reference"] {
            let mut speeds: Vec<f64> = Vec::new();
            let mut last = (0, 0.0, 0);
            for _ in 0..if kind == "blocks" { runs } else { 1 } {
                last = match kind {
                    "blocks" => run(&elf, &mut (), false),
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
