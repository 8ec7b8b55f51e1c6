//! The sums of the BPF program at one boundary, and the estimate of the times that were not taken.

use crate::count::Tally;
use crate::windows::Clusters;
use aya::Pod;

/// `struct tally` of the program.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Sums {
    pub(crate) count: u64,
    pub(crate) ns: u64,
    pub(crate) off: u64,
    pub(crate) errors: u64,
    pub(crate) one_byte: u64,
    pub(crate) switches: u64,
    pub(crate) others: u64,
    pub(crate) sampled: u64,
    pub(crate) sampled_ns: u64,
    pub(crate) squares: u64,
    pub(crate) unseen: u64,
    pub(crate) windowed: u64,
    pub(crate) windowed_ns: u64,
}

// SAFETY: plain data without padding, in which every bit pattern is valid.
unsafe impl Pod for Sums {}

/// The program adds squares of nanoseconds in units of this many.
const COARSE: f64 = 64.0;

impl Sums {
    pub(crate) fn tally(&self) -> Tally {
        self.tally_of(&Clusters::default())
    }

    /// With what windows say of the calls that were not seen to begin.
    pub(crate) fn tally_of(&self, clusters: &Clusters) -> Tally {
        let is_timed = self.unseen == 0 || self.unseen_ns().is_some();
        let timed = self.ns + self.sampled_ns + self.windowed_ns;
        let kernel_ns = is_timed.then(|| timed + self.untimed_ns() + self.unseen_ns().unwrap_or(0));
        let kernel_error_ns = self.error_ns() + self.unseen_error_ns(clusters);
        let waiting_ns = Some(self.off);
        Tally { count: self.count, kernel_ns, kernel_error_ns, waiting_ns, ..Tally::default() }
    }

    /// Calls that were all timed, the first ones.
    fn first(&self) -> u64 {
        self.count.saturating_sub(self.others + self.windowed + self.unseen)
    }

    /// Nanoseconds of the calls that were not timed although they were seen, by the mean of those that were sampled among
    /// them.
    pub(crate) fn untimed_ns(&self) -> u64 {
        let (ns, count) = match self.sampled {
            0 => (self.ns, self.first()),
            sampled => (self.sampled_ns, sampled),
        };
        (ns as f64 / count.max(1) as f64 * self.others.saturating_sub(self.sampled) as f64) as u64
    }

    /// Nanoseconds of the calls whose entry was not seen, by the mean of those in windows; without any, of those before.
    pub(crate) fn unseen_ns(&self) -> Option<u64> {
        let (ns, count) = match self.windowed {
            0 => (self.ns + self.sampled_ns, self.first() + self.sampled),
            windowed => (self.windowed_ns, windowed),
        };
        (count > 0).then(|| (ns as f64 / count as f64 * self.unseen as f64) as u64)
    }

    /// Half the 95 % interval of these: as large as they are where no window had such a call.
    fn unseen_error_ns(&self, clusters: &Clusters) -> u64 {
        match self.windowed {
            0 => self.unseen_ns().unwrap_or(0),
            _ => (clusters.mean_error() * self.unseen as f64) as u64,
        }
    }

    /// Half the 95 % interval of the nanoseconds of the calls that were seen: the standard error of a mean of samples without
    /// replacement.
    fn error_ns(&self) -> u64 {
        let (sampled, others) = (self.sampled as f64, self.others as f64);
        if self.sampled < 2 {
            return 0;
        }
        let mean = self.sampled_ns as f64 / sampled;
        let variance = (self.squares as f64 * COARSE * COARSE / sampled - mean * mean).max(0.0);
        (1.96 * others * (variance / sampled * (1.0 - sampled / others)).sqrt()) as u64
    }

    fn each(self, other: Self, of: fn(u64, u64) -> u64) -> Self {
        Self {
            count: of(self.count, other.count),
            ns: of(self.ns, other.ns),
            off: of(self.off, other.off),
            errors: of(self.errors, other.errors),
            one_byte: of(self.one_byte, other.one_byte),
            switches: of(self.switches, other.switches),
            others: of(self.others, other.others),
            sampled: of(self.sampled, other.sampled),
            sampled_ns: of(self.sampled_ns, other.sampled_ns),
            squares: of(self.squares, other.squares),
            unseen: of(self.unseen, other.unseen),
            windowed: of(self.windowed, other.windowed),
            windowed_ns: of(self.windowed_ns, other.windowed_ns),
        }
    }
}

impl std::ops::Add for Sums {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.each(other, u64::wrapping_add)
    }
}

impl std::ops::Sub for Sums {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.each(other, u64::wrapping_sub)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_are_not_timed_take_what_the_sampled_ones_take() {
        // 512 calls of 100 ns, and 8,000 others, of which 500 of 640 ns and 500 of 1,280 ns were sampled.
        let squares = 500 * (640 / 64_u64).pow(2) + 500 * (1_280 / 64_u64).pow(2);
        let (count, sampled_ns) = (8_512, 500 * 640 + 500 * 1_280);
        let sums =
            Sums { count, ns: 51_200, others: 8_000, sampled: 1_000, sampled_ns, squares, ..Sums::default() };
        // The mean of the others is 960 ns.
        assert_eq!(sums.tally().kernel_ns, Some(51_200 + 8_000 * 960));
        // 320 ns is their standard deviation, and 7 of 8 were not looked at.
        let error = 1.96 * 8_000.0 * 320.0 / 1_000_f64.sqrt() * (7.0 / 8.0_f64).sqrt();
        assert_eq!(sums.tally().kernel_error_ns, error as u64);
        let none = Sums { count: 600, ns: 60_000, others: 0, ..Sums::default() };
        assert_eq!((none.tally().kernel_ns, none.tally().kernel_error_ns), (Some(60_000), 0));
        // None of a few others was sampled: they are as those before.
        let few = Sums { count: 515, ns: 51_200, others: 3, ..Sums::default() };
        assert_eq!(few.tally().kernel_ns, Some(51_500));
    }

    #[test]
    fn calls_between_windows_take_what_those_in_windows_take() {
        // 512 calls of 100 ns, then 20 in windows of 300 ns, and 1,000 that were counted by their exits.
        let first = Sums { count: 1_512, ns: 51_200, unseen: 1_000, ..Sums::default() };
        let windowed = Sums { count: 1_532, windowed: 20, windowed_ns: 6_000, ..first };
        let mut clusters = Clusters::default();
        (0..2).for_each(|_| clusters.add(10, 3_000));
        let tally = windowed.tally_of(&clusters);
        assert_eq!((tally.kernel_ns, tally.kernel_error_ns), (Some(51_200 + 6_000 + 300_000), 0));
        // No window had such a call: as those before, and as uncertain as that is long.
        let tally = first.tally();
        assert_eq!((tally.kernel_ns, tally.kernel_error_ns), (Some(51_200 + 100_000), 100_000));
        let unknown = Sums { count: 1_000, unseen: 1_000, ..Sums::default() };
        assert_eq!(unknown.tally().kernel_ns, None);
    }
}
