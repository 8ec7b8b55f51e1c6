//! The bill: what a crossing cost, by phase.

use std::ops::{AddAssign, Index, IndexMut};

use crate::call::Crossing;
use crate::design::Design;
use crate::error::LabError;
use crate::phase::Phase;

/// What some instructions cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Instructions that retired; a trapping one does not.
    pub instructions: u64,
    /// Loads, by instructions and by the trap hardware.
    pub loads: u64,
    /// Stores, also by both.
    pub stores: u64,
    /// Bytes that the stores wrote.
    pub bytes_stored: u64,
    /// Traps taken.
    pub traps: u64,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.loads += other.loads;
        self.stores += other.stores;
        self.bytes_stored += other.bytes_stored;
        self.traps += other.traps;
    }
}

/// A cost for each phase. The total is their sum and nothing else, so a bill cannot fail to add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases([Cost; Phase::COUNT]);

impl Phases {
    /// The sum of all phases.
    pub fn total(&self) -> Cost {
        let mut total = Cost::default();
        self.0.iter().for_each(|&cost| total += cost);
        total
    }

    /// The phases in which anything happened, in the order of a bill.
    pub fn iter(&self) -> impl Iterator<Item = (Phase, Cost)> + '_ {
        Phase::ALL.iter().map(|&phase| (phase, self[phase])).filter(|(_, cost)| *cost != Cost::default())
    }

    /// Bytes written in order to have the registers back later: by the save phase and by the trap hardware.
    pub fn bytes_saved(&self) -> u64 {
        self[Phase::Save].bytes_stored + self[Phase::HardwareTrap].bytes_stored
    }

    /// The sum of two bills, phase by phase.
    pub fn add(&mut self, other: &Self) {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own += *other;
        }
    }
}

impl Index<Phase> for Phases {
    type Output = Cost;
    fn index(&self, phase: Phase) -> &Cost {
        &self.0[phase as usize]
    }
}

impl IndexMut<Phase> for Phases {
    fn index_mut(&mut self, phase: Phase) -> &mut Cost {
        &mut self.0[phase as usize]
    }
}

/// Instructions of single crossings: the first one, and the spread of those that follow in a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The first crossing, alone.
    pub single: u64,
    /// Fewest in the loop.
    pub min: u64,
    /// Most in the loop.
    pub max: u64,
    /// All of the loop.
    pub sum: u64,
    /// How many in the loop.
    pub count: u64,
}

impl Spread {
    /// The first crossing, and no loop yet.
    pub fn new(single: u64) -> Self {
        Self { single, min: u64::MAX, max: 0, sum: 0, count: 0 }
    }

    /// Adds a crossing of the loop.
    pub fn record(&mut self, instructions: u64) {
        self.min = self.min.min(instructions);
        self.max = self.max.max(instructions);
        self.sum += instructions;
        self.count += 1;
    }

    /// Mean of the loop.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count as f64
    }

    /// The same with `n` taken from every crossing.
    pub(crate) fn less(self, n: u64) -> Option<Self> {
        Some(Self {
            single: self.single.checked_sub(n)?,
            min: self.min.checked_sub(n)?,
            max: self.max.checked_sub(n)?,
            sum: self.sum.checked_sub(n.checked_mul(self.count)?)?,
            count: self.count,
        })
    }
}

/// What is to be measured.
#[derive(Clone, Copy, Debug)]
pub struct Experiment<'d> {
    /// The kernel.
    pub design: &'d Design<'d>,
    /// What is crossed.
    pub crossing: Crossing,
    /// How often in the loop, after the single crossing.
    pub iterations: u64,
}

/// What a crossing cost.
#[derive(Clone, Debug)]
pub struct TrapBill<'d> {
    /// What was measured.
    pub experiment: Experiment<'d>,
    /// Which engine counted.
    pub engine: &'static str,
    /// What the system call returned; `None` for interrupts and switches.
    pub result: Option<i64>,
    /// Bits of an address space identifier, from a kernel that looks for them: with none it flushes at each switch.
    pub asid_bits: Option<u32>,
    /// Instructions in all, as this engine counts them.
    pub spread: Spread,
    /// The phases of the first crossing, and of all in the loop together; `None` from an engine that only counts.
    pub phases: Option<Box<[Phases; 2]>>,
}

impl TrapBill<'_> {
    /// The phases of one crossing of the loop, when all of them were alike.
    pub fn each(&self) -> Option<Phases> {
        let [_, all] = &**self.phases.as_ref()?;
        let count = self.spread.count;
        let mut each = Phases::default();
        for &phase in Phase::ALL {
            let Cost { instructions, loads, stores, bytes_stored, traps } = all[phase];
            let numbers = [instructions, loads, stores, bytes_stored, traps];
            if numbers.iter().any(|n| n % count != 0) {
                return None;
            }
            let [instructions, loads, stores, bytes_stored, traps] = numbers.map(|n| n / count);
            each[phase] = Cost { instructions, loads, stores, bytes_stored, traps };
        }
        Some(each)
    }
}

/// Something that can run the guests and count.
pub trait Engine: Sync {
    /// Its name, as `--engine` takes it.
    fn name(&self) -> &'static str;

    /// Runs one experiment. [`LabError::EngineMissing`] and [`LabError::NotHere`] mean that it is to be skipped.
    fn measure<'d>(&self, experiment: &Experiment<'d>) -> Result<TrapBill<'d>, LabError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_keeps_the_first_crossing_apart() {
        let mut spread = Spread::new(9);
        spread.record(4);
        spread.record(6);
        assert_eq!(spread, Spread { single: 9, min: 4, max: 6, sum: 10, count: 2 });
        assert!((spread.mean() - 5.0).abs() < 1e-12);
        assert_eq!(spread.less(5), None);
        assert_eq!(spread.less(1).map(|s| s.sum), Some(8));
    }

    #[test]
    fn the_total_is_the_sum_of_the_phases() {
        let mut phases = Phases::default();
        for (n, phase) in Phase::ALL.iter().copied().enumerate() {
            phases[phase] = Cost { instructions: 1 << n, loads: 1, stores: 2, bytes_stored: 16, traps: 0 };
        }
        let total = phases.total();
        assert_eq!(total.instructions, (1 << Phase::COUNT) - 1);
        assert_eq!(total.bytes_stored, 16 * Phase::COUNT as u64);
        assert_eq!(phases.bytes_saved(), 32);
    }
}
