//! The timed cores as the witnesses use them. Nothing else of these tests names a type of the model.

use tollgate_cores::{ByPrivilege, Core, Passage, Phases, Sink, Timed, TimingCounts};
use tollgate_riscv::{Code, Machine, Retired, Step, Stop, Trap};

use super::figures::{Digest, Figures};

/// Privilege mode and place of the code: sixteen phases for each mode.
pub(crate) struct ByModeAndPlace;

impl Phases for ByModeAndPlace {
    fn of(&mut self, retired: &Retired) -> u8 {
        (retired.privilege as u8) << 4 | (retired.pc >> 6 & 15) as u8
    }
    fn of_trap(&mut self, trap: &Trap) -> u8 {
        (trap.from as u8) << 4 | (trap.epc >> 6 & 15) as u8
    }
}

/// Digests passages.
#[derive(Default)]
pub(crate) struct Passages(Digest);

impl Sink for Passages {
    fn passage(&mut self, it: Passage) {
        let digest = &mut self.0;
        digest.add(&[it.sequence, it.pc, it.word.map_or(u64::MAX, u64::from), it.privilege as u64, it.end]);
        digest.add(&it.starts.map(|start| start.unwrap_or(u64::MAX)));
        for stall in &it.stalls {
            digest.add(&[stall.stage as u64, stall.cause as u64, stall.cycles]);
        }
        digest.add(&[it.squashed.map_or(0, |flush| 1 + flush as u64)]);
    }
}

/// A core that is attached to a machine and divides its cycles by phase.
pub(crate) struct Attached<S: Sink>(Timed<ByModeAndPlace, S>);

impl<S: Sink> Attached<S> {
    pub(crate) fn new(core: &Core, code: &Code, sink: S) -> Self {
        Self(Timed::new(core, ByModeAndPlace, sink).expect("a core").with_code(code))
    }

    pub(crate) fn run(&mut self, machine: &mut Machine, steps: u64) -> Stop {
        machine.run(steps, &mut self.0)
    }

    pub(crate) fn make_cold(&mut self) {
        self.0.make_cold();
    }

    pub(crate) fn figures(&self) -> Figures {
        figures(self.0.cycles(), self.0.counts(), self.0.ledger().rows().chunks(16).map(sum))
    }

    pub(crate) fn phases(&self) -> Digest {
        let mut digest = Digest::default();
        self.0.ledger().rows().iter().for_each(|row| digest.add(row));
        digest
    }
}

impl Attached<Passages> {
    pub(crate) fn passages(mut self) -> Digest {
        std::mem::take(&mut self.0.sink().0)
    }
}

/// A core without phases, for long programs.
pub(crate) struct Quick(Timed);

impl Quick {
    pub(crate) fn new(core: &Core, code: &Code) -> Self {
        Self(Timed::new(core, ByPrivilege, ()).expect("a core").with_code(code))
    }

    pub(crate) fn run(&mut self, machine: &mut Machine, steps: u64) -> Stop {
        machine.run(steps, &mut self.0)
    }

    pub(crate) fn figures(&mut self) -> Figures {
        let (cycles, counts) = (self.0.cycles(), self.0.counts());
        figures(cycles, counts, self.0.ledger().rows().iter().copied())
    }
}

/// A core that decides itself before which instruction it takes an interrupt.
pub(crate) struct Interrupted(Timed<(), ()>);

impl Interrupted {
    pub(crate) fn new(core: &Core, code: &Code) -> Self {
        Self(Timed::new(core, (), ()).expect("a core").with_code(code))
    }

    pub(crate) fn step(&mut self, machine: &mut Machine) -> Step {
        self.0.step(machine)
    }

    pub(crate) fn interrupts(&mut self, machine: &Machine, line: u64) -> bool {
        self.0.interrupts(machine, line)
    }

    pub(crate) fn cycles(&self) -> u64 {
        self.0.cycles()
    }
}

type Causes = tollgate_cores::Causes;

fn sum(rows: &[Causes]) -> Causes {
    let mut sum = Causes::default();
    rows.iter().for_each(|row| sum.iter_mut().zip(row).for_each(|(sum, cycles)| *sum += cycles));
    sum
}

/// The columns of a line, and the cycles by mode and cause.
fn figures(cycles: u64, counts: TimingCounts, modes: impl Iterator<Item = Causes>) -> Figures {
    let modes: Vec<Causes> = modes.collect();
    let it = counts.memory;
    let counts = [
        counts.instructions,
        cycles,
        counts.mispredicts,
        counts.traps,
        it.l1i_misses,
        it.l1d_accesses,
        it.l1d_misses,
        it.l2_accesses,
        it.l2_misses,
        it.write_backs,
        it.itlb_misses,
        it.dtlb_misses,
        it.unknown_walks,
    ];
    Figures { columns: [&counts[..], &sum(&modes)].concat(), modes: modes.concat() }
}
