//! The plan of a sampler, and the events for its caller.

use crate::samples::RunSamples;
use std::time::Duration;

/// How to sample.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Seed of the order of visits.
    pub seed: u64,
    /// Epochs that are always made.
    pub epochs: u32,
    /// Epochs at the most.
    pub most_epochs: u32,
    /// Time for all epochs, in nanoseconds.
    pub budget_ns: u64,
    /// Length of a batch, in nanoseconds: far under a scheduler tick.
    pub batch_ns: u64,
    /// A probe whose interval's half width is at most this share of its figure needs no further epoch.
    pub target: f64,
    /// Time for single passes of each probe in an epoch, in nanoseconds.
    pub singles_ns: u64,
}

/// An event for the caller between two requests, when nothing is being timed. The samples are those of each bench.
#[derive(Debug)]
pub enum Event<'a> {
    /// An epoch begins; which one, in words.
    Epoch(String),
    /// A probe is about to be calibrated or warmed.
    Warming(usize),
    /// Every active probe is open and warm: sampling begins.
    Sampling,
    /// A round has ended; share of the budget used, and everything so far.
    Round(f64, &'a [&'a RunSamples]),
    /// An epoch has ended.
    Ended(&'a [&'a RunSamples]),
}

/// Percent of the budget within which an epoch must be expected to end to be begun, even when fewer were made than planned:
/// on a machine that is overloaded a rough answer is better than none.
const MOST_OVERDRAFT: u64 = 125;
/// The time before and after the epochs.
const STARTING: Duration = Duration::from_secs(1);
/// Rounds of an epoch at the least, however short the budget.
pub(super) const FEWEST_ROUNDS: u64 = 4;

/// Epochs of a pair for each of one run: at least, and if there is time.
const EPOCHS_OF_PAIR: (u32, u32) = (1, 2);
/// Epochs of a pair at the least. Each probe has two choices of signs in which all of its epochs are on one side: those of ten
/// probes are one in 200 of the choices of 12 epochs, and more than the test allows; of 16 epochs one in 3,000.
const FEWEST_OF_PAIR: u32 = 16;
/// Time of an epoch of a pair from which more are made: opening and warming take a quarter of it.
const EPOCH_OF_PAIR_NS: u64 = 720_000_000;
/// Tenths of a run's time that a pair takes: 58 s by default.
const TENTHS_OF_PAIR: u64 = 18;
/// Length of a batch of a pair: what both sides meet cancels, and the clock and the first passes are less of a longer one.
const BATCH_OF_PAIR_NS: u64 = 300_000;
/// Time of each probe on both sides in an epoch of a pair that ends when the change is known.
const OPEN_NS: u64 = 40_000_000;

impl Plan {
    /// The plan of two benches in pairs: more and shorter epochs than one run has, since what differs from process to
    /// process is what pairs do not cancel. They are always as many, because the interval is valid at the end only; if
    /// the run ends when each change is known, they are as many as the time allows.
    #[must_use]
    pub fn for_pair(&self, until: Option<f64>) -> Self {
        let budget_ns = self.budget_ns / 10 * TENTHS_OF_PAIR;
        let [least, most] = [EPOCHS_OF_PAIR.0, EPOCHS_OF_PAIR.1].map(|each| self.most_epochs * each);
        let fitting = u32::try_from(budget_ns / EPOCH_OF_PAIR_NS).unwrap_or(u32::MAX);
        let least = least.max(FEWEST_OF_PAIR);
        let epochs = if until.is_some() { u32::MAX } else { fitting.clamp(least, most.max(least)) };
        let singles_ns = self.singles_ns / u64::from(EPOCHS_OF_PAIR.1);
        let batch_ns = BATCH_OF_PAIR_NS;
        Self { epochs, most_epochs: epochs, budget_ns, batch_ns, target: 0.0, singles_ns, ..self.clone() }
    }

    /// [`Plan::rounds_ns`] of an epoch with this many open probes, until their change is decided.
    pub(super) fn rounds_of_open_ns(&self, open: usize, used_ns: u64) -> u64 {
        self.budget_ns.saturating_sub(used_ns).min(OPEN_NS * open as u64)
    }

    /// How long all of it is likely to take, with the start and the end of its processes.
    #[must_use]
    pub fn likely(&self) -> Duration {
        Duration::from_nanos(self.budget_ns) + STARTING
    }

    /// Time that a run may take, in nanoseconds.
    pub(super) fn most_ns(&self) -> u64 {
        self.budget_ns / 100 * MOST_OVERDRAFT
    }

    /// Whether another epoch, as long as the last one, would exceed the time.
    pub(super) fn is_overdrawn(&self, used_ns: u64, last_ns: u64) -> bool {
        used_ns + last_ns > self.most_ns()
    }

    /// The time of the rounds of an epoch: an equal share of what is left for the rounds of the epochs to come, so that a
    /// slow start takes from all of them alike. `opening_ns` is what this epoch took before its rounds, which are to come,
    /// and `closing_ns` what the last one took after them.
    pub(super) fn rounds_ns(&self, epoch: u32, used_ns: u64, opening_ns: u64, closing_ns: u64) -> u64 {
        let epochs = u64::from(self.most_epochs - epoch);
        let around = opening_ns * (epochs - 1) + closing_ns * epochs;
        self.budget_ns.saturating_sub(used_ns).saturating_sub(around) / epochs
    }

    /// The share of the budget that was used.
    pub(super) fn share(&self, used_ns: u64) -> f64 {
        (used_ns as f64 / self.budget_ns as f64).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_epoch_has_as_much_time_for_rounds_as_the_others() {
        let budget_ns = 1_000;
        let plan =
            Plan { seed: 0, epochs: 4, most_epochs: 4, budget_ns, batch_ns: 1, target: 0.0, singles_ns: 0 };
        let (opening, closing) = (60, 40);
        let mut used = 0;
        let mut lengths = Vec::new();
        for epoch in 0..4 {
            used += opening;
            lengths.push(plan.rounds_ns(epoch, used, opening, closing));
            used += lengths[epoch as usize] + closing;
        }
        assert_eq!((lengths, used), (vec![150; 4], budget_ns));
        assert_eq!(plan.rounds_ns(3, 990, 60, 40), 0, "what is left is less than the closing takes");
        assert!(!plan.is_overdrawn(900, 350) && plan.is_overdrawn(900, 351), "1,250 at the most");
    }
}
