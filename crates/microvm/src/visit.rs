//! The results of one run of a guest.

use crate::{Sample, Table, phase};

/// The guest's exits as the host observed them. The stay of an exit in user space is the time from the return of `KVM_RUN`
/// to its
/// next call, in ticks of the host's counter, in the order of the exits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stays {
    /// Writes to a port.
    pub port: Vec<u64>,
    /// Writes to an address without memory.
    pub mmio: Vec<u64>,
    /// How often the doorbell that nobody answers was rung.
    pub doorbells: u64,
    /// For each answered doorbell: the time at which the monitor's thread ran, and at which it sent its interrupt, by the
    /// guest's counter if [`Stays::one_clock`], or by the host's.
    pub answers: Vec<[u64; 2]>,
    /// Whether KVM told how far the guest's counter is from the host's.
    pub one_clock: bool,
}

/// The results of one run of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Its table; [`Table::finished`] is false if it hung and was stopped.
    pub table: Table,
    /// Empty under QEMU, where exits do not reach this process.
    pub stays: Stays,
}

impl Visit {
    /// How much longer an empty pair of stamps takes in ring 0 than in ring 3: the ratio of the minima, because
    /// disturbances only make a pair longer. About 1 on hardware; far above 1 where ring 0 is emulated.
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
