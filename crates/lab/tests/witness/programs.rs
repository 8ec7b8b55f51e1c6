//! The programs that the witnesses run.

use strum::VariantArray;
use tollgate_cores::Core;
use tollgate_lab::rtl::{Part, Raise, SUBJECTS, Subject, golden};
use tollgate_lab::{Crossing, DESIGNS, Design, Experiment, prepare};
use tollgate_riscv::{Boot, Code, Config, Elf, Isa, Machine, MachineKind};

use super::common::Rng;
use super::common::random::{self, Mode};
use super::lockstep;

/// Where RAM begins.
const RAM: u64 = 0x8000_0000;

/// A program, and how many steps of it are recorded.
pub(crate) struct Case {
    /// Its line in the file.
    pub(crate) group: String,
    pub(crate) name: String,
    pub(crate) core: Core,
    pub(crate) steps: u64,
    /// For a loop that is interrupted.
    pub(crate) raise: Option<Raise>,
    config: Config,
    image: Vec<u8>,
    entry: u64,
}

impl Case {
    pub(crate) fn machine(&self) -> Machine {
        let mut machine = Machine::new(self.config.clone()).expect("a machine");
        machine.write_memory(RAM, &self.image).expect("in RAM");
        machine.set_pc(self.entry);
        machine.set_x(11, 0);
        machine
    }

    pub(crate) fn code(&self) -> Code {
        Code::new(self.config.isa, vec![(RAM, self.image.clone())])
    }
}

/// The core whose RTL was run that a preset models, or one with the same instructions.
fn subject(core: &Core) -> &'static Subject {
    let own = SUBJECTS.iter().find(|subject| subject.preset == core.name);
    own.or_else(|| Subject::find("rocket")).expect("rocket")
}

/// Steps of the longest programs, of which [`whole`] has all.
const LONG: u64 = 60_000;

/// The programs whose RTL was recorded, for as many steps as they have there or the first [`LONG`].
pub(crate) fn corpus(core: &Core) -> Vec<Case> {
    let cut = |case: Case| Case { steps: case.steps.min(LONG), ..case };
    of_subject(core, Part::VARIANTS).into_iter().map(cut).collect()
}

/// The long programs of the corpus to their end.
pub(crate) fn whole(core: &Core) -> Vec<Case> {
    let named = |case: Case| Case { group: "whole".into(), ..case };
    of_subject(core, &[Part::Programs]).into_iter().map(named).collect()
}

fn of_subject(core: &Core, parts: &[Part]) -> Vec<Case> {
    let subject = subject(core);
    let isa: Isa = subject.isa.parse().expect("an ISA");
    let mut cases = Vec::new();
    for &part in parts {
        let goldens = subject.golden.iter().filter(|(of, _)| *of == part);
        let goldens: Vec<_> = goldens.flat_map(|(_, file)| golden::read(file).expect("a file").1).collect();
        for program in subject.programs(part).expect("programs") {
            let mut core = core.clone();
            core.memory.latency = program.latency as u32;
            let of = goldens.iter().find(|golden| program.is(&golden.program, golden.latency));
            let family = program.name.split('.').next().unwrap_or_default();
            let group = match part {
                Part::Kernels => format!("kernels {family}"),
                Part::Traps => format!("traps {}", program.latency),
                _ => part.name().to_owned(),
            };
            cases.push(Case {
                group,
                raise: program.raise(),
                steps: of.expect("its golden run").retired.len() as u64,
                config: Config { isa, ram_bytes: 8 << 20, misaligned: subject.misaligned, ..core.config() },
                core,
                name: program.name,
                image: program.memory,
                entry: program.entry,
            });
        }
    }
    cases
}

/// Programs in a group of random ones.
const GROUP: u64 = 50;
/// Steps of a random program: all of it but the end, which prints what it found.
const STEPS: u64 = 5_000;

/// Random programs by number, each of its own seed: unprivileged ones in machine mode and under translation, with exceptions,
/// misaligned accesses, atomics, floating point and `fence.i`; and privileged ones with interrupts, delegation and protection.
pub(crate) fn random(core: &Core, numbers: std::ops::Range<u64>) -> Vec<Case> {
    numbers.map(|number| random_program(core, number)).collect()
}

fn random_program(core: &Core, number: u64) -> Case {
    let rng = &mut Rng(1_000_000 + number);
    let unprivileged =
        [("rv64gc", Mode::Machine), ("rv64gc", Mode::Sv39), ("rv32gc", Mode::Sv32), ("rv64gc", Mode::Sv48)];
    let privileged = ["rv64gc", "rv32gc", "rv64gc_zicclsm_zba_zbb_zbs", "rv64gc_sstc_svpbmt"];
    let (isa, image, ram_bytes) = match usize::try_from(number % 8).expect("small") {
        at @ 0..4 => {
            let (isa, mode) = unprivileged[at];
            let isa: Isa = isa.parse().expect("an ISA");
            (isa, random::program(rng, isa, mode, 300), 1 << 20)
        }
        at => {
            let isa: Isa = privileged[at - 4].parse().expect("an ISA");
            (isa, lockstep::program(rng, isa, true, 20), lockstep::RAM)
        }
    };
    Case {
        group: format!("random {:03}", number / GROUP * GROUP),
        name: number.to_string(),
        core: core.clone(),
        steps: STEPS,
        raise: None,
        config: Config { isa, machine: MachineKind::Virt, ram_bytes, misaligned: true, ..core.config() },
        image,
        entry: RAM,
    }
}

/// Crossings of a guest behind the first one.
const CROSSINGS: u64 = 12;
/// Steps of a guest.
const GUEST: u64 = 20_000;

/// The lab's experiments: each kernel with its crossing, or with the call that does least.
pub(crate) fn experiments() -> Vec<Experiment<'static>> {
    let of = |design: &'static Design<'static>| Experiment {
        design,
        crossing: design.crossing.unwrap_or(Crossing::Call(172)),
        iterations: CROSSINGS,
    };
    DESIGNS.iter().map(of).collect()
}

/// The guest of an experiment by itself.
pub(crate) fn guest(core: &Core, experiment: &Experiment) -> Case {
    let elf = Elf::parse(&prepare(experiment).expect("an image")).expect("an ELF file");
    let mut image = Vec::new();
    for segment in &elf.segments {
        let start = usize::try_from(segment.address - RAM).expect("in RAM");
        image.resize(image.len().max(start + segment.data.len()), 0);
        image[start..start + segment.data.len()].copy_from_slice(&segment.data);
    }
    Case {
        group: "guests".into(),
        name: experiment.design.name.into(),
        core: core.clone(),
        steps: GUEST,
        raise: None,
        config: Config {
            isa: experiment.design.isa.parse().expect("an ISA"),
            ram_bytes: 8 << 20,
            ..core.config()
        },
        image,
        entry: elf.entry,
    }
}

/// A machine that is about to start a kernel. The clock and the random numbers of the guest are the same each time.
pub(crate) fn linux(core: &Core, image: &[u8]) -> Machine {
    let bootargs = "console=ttyS0".into();
    let config = Config {
        machine: MachineKind::Virt,
        ram_bytes: 512 << 20,
        misaligned: true,
        coherent_code: true,
        bootargs,
        ..core.config()
    };
    let mut machine = Machine::new(config).expect("a machine");
    let boot = Boot {
        kernel: image,
        firmware: None,
        initrd: None,
        drive: None,
        console: false,
        network: false,
        seed: 0,
    };
    machine.boot(boot).expect("a kernel");
    machine
}
