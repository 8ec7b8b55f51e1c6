//! The distribution of single touches: 64 buckets for each power of two, so that each length is known to 1.6 %.

pub(super) struct Lengths {
    counts: Vec<u64>,
}

/// log2 of the buckets in each power of two.
const FINE: u32 = 6;

impl Lengths {
    pub(super) fn new() -> Self {
        Self { counts: vec![0; ((64 - FINE as usize) + 1) << FINE] }
    }

    #[inline]
    pub(super) fn add(&mut self, ticks: u64) {
        self.counts[bucket(ticks)] += 1;
    }

    /// The buckets that are not empty: number and count.
    pub(super) fn full(&self) -> Vec<(u32, u64)> {
        let full = self.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        full.map(|(bucket, &count)| (bucket as u32, count)).collect()
    }
}

#[inline]
fn bucket(ticks: u64) -> usize {
    let top = 63 - (ticks | 1).leading_zeros();
    if top < FINE {
        return ticks as usize;
    }
    let shift = top - FINE;
    (((shift + 1) as usize) << FINE) + ((ticks >> shift) as usize - (1 << FINE))
}

/// The ticks in the middle of a bucket.
pub(crate) fn middle(bucket: u32) -> f64 {
    let (power, rest) = (bucket >> FINE, u64::from(bucket & ((1 << FINE) - 1)));
    if power == 0 {
        return rest as f64;
    }
    let width = (1_u64 << (power - 1)) as f64;
    ((1 << FINE) + rest) as f64 * width + (width - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_and_know_their_middle_to_two_percent() {
        let mut last = 0;
        for ticks in (0..5_000).chain([1 << 20, (1 << 20) + 20_000, 1 << 40]) {
            let here = bucket(ticks);
            assert!(here == last || here == last + 1 || ticks > 5_000, "{ticks}");
            let error = (middle(here as u32) - ticks as f64).abs();
            assert!(error <= ticks as f64 / 64.0, "{ticks}: {}", middle(here as u32));
            last = here;
        }
        assert!(bucket(u64::MAX) < Lengths::new().counts.len());
    }
}
