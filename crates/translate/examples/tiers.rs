//! Instructions per microsecond of processor time with and without translations, in turns: of a machine alone, of one whose
//! caches and translation buffers are counted, and of one with five stages, caches, translation buffers and the whole ledger.
//!
//! `cargo run --release -p tollgate-translate --example tiers [ROUNDS] [STEPS] [FILE.elf] [alone]`
//!
//! With `alone`, without the machines whose caches are counted or whose cycles are.
#![allow(clippy::print_stdout)]

use tollgate_cores::{ByPrivilege, CacheCounter, Core, Ledger, MemoryCounts, Timed};
use tollgate_riscv::tier::SAMPLE;
use tollgate_riscv::{Config, Elf, Isa, Machine, Xlen};
use tollgate_translate::Translations;

/// Nanoseconds that this thread has run. Processor time, not wall-clock: others may use the machine.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|value| value.parse().ok()).unwrap_or(0)
}

/// What is attached to the machine.
#[derive(Clone, Copy)]
enum Design {
    Alone,
    Counted,
    Timed,
}

/// How a run ended: a sum of the registers, what a core counted, and its ledger.
type End = (u64, Option<MemoryCounts>, Option<Ledger>);

/// The speed of a run, and its end.
fn speed(elf: &Elf, steps: u64, translates: bool, design: Design) -> (f64, u64, End) {
    let core = Core::from_toml(include_str!("../../cores/examples/bench.toml")).expect("the core is valid");
    let isa = match elf.xlen {
        Xlen::Rv64 => Isa::default(),
        Xlen::Rv32 => "rv32gc".parse().expect("a valid ISA"),
    };
    let mut machine = Machine::new(Config { isa, ..Config::default() }).expect("the configuration is valid");
    machine.load(elf).expect("the program fits");
    if translates {
        machine.set_translator(0, Box::new(Translations::new().expect("this host translates")), SAMPLE);
    }
    let mut counting = CacheCounter::new(&core).expect("the core is valid");
    let mut timing = Timed::new(&core, ByPrivilege, ()).expect("the core is valid");
    let start = cpu_ns();
    match design {
        Design::Alone => machine.run(steps, &mut ()),
        Design::Counted => machine.run(steps, &mut counting),
        Design::Timed => machine.run(steps, &mut timing),
    };
    let mips = machine.instret() as f64 / ((cpu_ns() - start) as f64 / 1000.0);
    let end = (0..32).fold(machine.pc(), |sum, register| sum.rotate_left(7) ^ machine.x(register));
    let (counts, ledger) = match design {
        Design::Alone => (None, None),
        Design::Counted => (Some(counting.counts()), None),
        Design::Timed => (Some(timing.counts().memory), Some(timing.ledger().clone())),
    };
    (mips, machine.instret(), (end, counts, ledger))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| arguments.get(place).and_then(|text| text.parse::<u64>().ok());
    let (rounds, steps) = (number(0).unwrap_or(5).max(1), number(1).unwrap_or(1_000_000_000));
    let bytes = arguments.get(2).map(|path| std::fs::read(path).expect("the file can be read"));
    let bytes = bytes.unwrap_or_else(|| include_bytes!("../../../guests/riscv/bench/mix.elf").to_vec());
    let elf = Elf::parse(&bytes).expect("an ELF file");
    let mut designs = vec![
        ("alone", Design::Alone),
        ("caches and TLBs counted", Design::Counted),
        ("five stages, caches, TLBs and ledger", Design::Timed),
    ];
    if arguments.get(3).is_some_and(|argument| argument == "alone") {
        designs.truncate(1);
    }
    let mut ratios = vec![Vec::new(); designs.len()];
    let mut instructions = 0;
    for _ in 0..rounds {
        for (&(name, design), ratios) in designs.iter().zip(&mut ratios) {
            let (plain, _, expected) = speed(&elf, steps, false, design);
            let (translated, retired, end) = speed(&elf, steps, true, design);
            assert_eq!(end, expected, "both end in the same state, with the same counts and cycles");
            instructions = retired;
            let ratio = translated / plain;
            println!(
                "{name}: interpreted {plain:6.0} MIPS, translated {translated:6.0} MIPS, {ratio:.2} times"
            );
            ratios.push(ratio);
        }
    }
    println!("instructions: {instructions}");
    for ((name, _), ratios) in designs.iter().zip(&mut ratios) {
        ratios.sort_by(f64::total_cmp);
        let (median, last) = (ratios[ratios.len() / 2], ratios[ratios.len() - 1]);
        println!("{name}: median {median:.2} times ({:.2} to {last:.2})", ratios[0]);
    }
}
