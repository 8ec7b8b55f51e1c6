//! A boot with and without translations: processor time, what the translator did, and whether both end in the same state.
//!
//! `cargo run --release -p tollgate-translate --example boot KERNEL INITRD [INSTRUCTIONS] [ROUNDS] [PIECES]`
//!
//! With PIECES, both are compared byte by byte after each of so many parts of the run.
#![allow(clippy::print_stdout)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use tollgate_riscv::tier::{Exit, Region, Registers, SAMPLE, Translation, Translator};
use tollgate_riscv::{Boot, Config, Machine, MachineKind, Op};
use tollgate_translate::Translations;

/// Nanoseconds that this thread has run. Processor time, not wall-clock: others may use the machine.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|value| value.parse().ok()).unwrap_or(0)
}

/// What the translator did.
#[derive(Default)]
struct Seen {
    regions: u64,
    refused: u64,
    insns: u64,
    /// Nanoseconds in the translator.
    translating: u64,
    entered: u64,
    retired: u64,
    cleared: u64,
    /// The instructions of regions by their addresses.
    ops: HashMap<u64, Op>,
    /// How often a region was left before an instruction of each kind.
    exits: HashMap<Option<Op>, u64>,
    others: u64,
}

/// Counts on the way to the translator.
struct Counted(Translations, Rc<RefCell<Seen>>);

impl Translator for Counted {
    fn translate(&mut self, region: Region) -> Translation {
        let mut seen = self.1.borrow_mut();
        seen.regions += 1;
        seen.insns += region.insns().count() as u64;
        seen.ops.extend(region.insns().map(|insn| (insn.pc, insn.insn.op)));
        let start = cpu_ns();
        let translation = self.0.translate(region);
        seen.translating += cpu_ns() - start;
        seen.refused += u64::from(translation == Translation::Refused);
        translation
    }

    fn run(&mut self, number: u16, registers: Registers<'_>) -> Option<Exit> {
        let before = registers.retired;
        let exit = self.0.run(number, registers)?;
        let mut seen = self.1.borrow_mut();
        seen.entered += 1;
        seen.retired += exit.retired - before;
        if exit.interpret {
            let op = seen.ops.get(&exit.pc).copied();
            *seen.exits.entry(op).or_default() += 1;
        } else {
            seen.others += 1;
        }
        Some(exit)
    }

    fn is_full(&self) -> bool {
        self.0.is_full()
    }

    fn clear(&mut self) {
        self.1.borrow_mut().cleared += 1;
        self.0.clear();
    }
}

fn machine(kernel: &[u8], initrd: &[u8]) -> Machine {
    let config = Config {
        machine: MachineKind::Virt,
        ram_bytes: 512 << 20,
        bootargs: "console=ttyS0".into(),
        misaligned: true,
        coherent_code: true,
        ..Config::default()
    };
    let mut machine = Machine::new(config).expect("the configuration is valid");
    let boot = Boot {
        kernel,
        firmware: None,
        initrd: Some(initrd),
        drive: None,
        console: false,
        network: false,
        seed: 0,
    };
    machine.boot(boot).expect("the kernel fits");
    machine
}

fn timed(machine: &mut Machine, budget: u64) -> f64 {
    let start = cpu_ns();
    machine.run(budget, &mut ());
    (cpu_ns() - start) as f64 / 1e9
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| arguments.get(place).and_then(|text| text.parse::<u64>().ok());
    let file = |place: usize| std::fs::read(&arguments[place]).expect("the file can be read");
    let (kernel, initrd) = (file(0), file(1));
    let (budget, rounds) = (number(2).unwrap_or(700_000_000), number(3).unwrap_or(1));
    let pieces = number(4).unwrap_or(1);
    for _ in 0..rounds {
        let mut plain = machine(&kernel, &initrd);
        let mut fast = machine(&kernel, &initrd);
        let seen: Rc<RefCell<Seen>> = Rc::default();
        let counted = Counted(Translations::new().expect("this host translates"), Rc::clone(&seen));
        fast.set_translator(0, Box::new(counted), SAMPLE);
        let (mut interpreted, mut translated) = (0.0, 0.0);
        for _ in 0..pieces {
            interpreted += timed(&mut plain, budget / pieces);
            translated += timed(&mut fast, budget / pieces);
            let [expected, state] =
                [&mut plain, &mut fast].map(|machine| machine.save().expect("it can be saved"));
            assert!(state == expected, "both are in the same state");
        }
        let seen = seen.borrow();
        println!(
            "interpreted {interpreted:.2} s, translated {translated:.2} s ({:.2} translating), {:.2} times; {} instructions",
            seen.translating as f64 / 1e9,
            interpreted / translated,
            plain.instret()
        );
        println!(
            "{} regions ({} refused) of {} instructions; entered {} times, {} instructions retired; cleared {} times",
            seen.regions, seen.refused, seen.insns, seen.entered, seen.retired, seen.cleared
        );
        let mut exits: Vec<_> = seen.exits.iter().map(|(op, count)| (*count, op)).collect();
        exits.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        exits.truncate(14);
        println!("left {} times to go on elsewhere, and for the interpreter: {exits:?}", seen.others);
    }
}
