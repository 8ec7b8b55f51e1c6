//! What one life of a guest gave.

use crate::{Sample, Table, phase};

/// How long the monitor kept the processor for each exit that came to user space, in ticks of the host's
/// counter and in the order of the exits: from the return of `KVM_RUN` to the next call of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stays {
    /// Writes of a port.
    pub port: Vec<u64>,
    /// Writes of memory that is not there.
    pub mmio: Vec<u64>,
}

/// What one life of a guest gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Its table; [`Table::finished`] is false when it hung and was stopped.
    pub table: Table,
    /// Empty where no exit comes to us.
    pub stays: Stays,
}

impl Visit {
    /// How much longer an empty pair of stamps takes in ring 0 than in ring 3: the lowest of each, for what
    /// disturbs a pair only makes it longer. About 1 on hardware; far above where ring 0 is emulated.
    #[must_use]
    pub fn ring_ratio(&self) -> Option<f64> {
        let lowest = |name| {
            let samples = self.table.rows.get(phase(name)?)?.samples()?;
            samples.iter().map(|sample: &Sample| sample[3].wrapping_sub(sample[0])).min()
        };
        let (zero, three) = (lowest("pair-ring-0")?, lowest("pair-ring-3")?);
        Some(f64::from(zero) / f64::from(three.max(1)))
    }
}
