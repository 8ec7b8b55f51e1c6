//! How long a command will still take.

/// Below this share, and before this many seconds, the pace of work says nothing about the rest of it.
const UNTRUE: (f64, f64) = (0.03, 1.0);

/// An estimate that begins with the plan, and follows the pace of the work as it proceeds.
#[derive(Debug, Default)]
pub(super) struct Remaining {
    /// Seconds that all of it is likely to take, once that is known.
    expected: Option<f64>,
}

impl Remaining {
    /// Work that is planned to take a number of seconds.
    pub(super) fn expecting(seconds: f64) -> Self {
        Self { expected: Some(seconds) }
    }

    /// The seconds left after a share of the work and an elapsed time; `None` if unknown.
    fn seconds(&mut self, share: f64, elapsed: f64) -> Option<f64> {
        let share = share.clamp(0.0, 1.0);
        let is_paced = share >= UNTRUE.0 && elapsed >= UNTRUE.1;
        if self.expected.is_none() && is_paced {
            self.expected = Some(elapsed / share);
        }
        let expected = self.expected?;
        if !is_paced {
            return Some((expected - elapsed).max(expected / 2.0));
        }
        // By the plan and by the pace: the more is done, the more the pace counts, and from the middle on it alone.
        let weight = (2.0 * share).min(1.0);
        let total = (1.0 - weight) * expected + weight * elapsed / share;
        Some((1.0 - share) * total)
    }

    /// The same as words.
    pub(super) fn text(&mut self, share: f64, elapsed: f64) -> String {
        match self.seconds(share, elapsed) {
            _ if share >= 0.99 => "finishing".into(),
            Some(left) if elapsed < UNTRUE.1 => format!("about {}", duration(left)),
            Some(left) => format!("{} left", duration(left)),
            None => format!("{} so far", duration(elapsed)),
        }
    }
}

/// A duration in its largest unit, and never zero.
pub(super) fn duration(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("{:.0} s", seconds.ceil().max(1.0)),
        ..5_400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3_600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every estimate of work that takes `real` seconds at a constant pace and was planned to take `planned`.
    fn run(planned: Option<f64>, real: f64) -> Vec<f64> {
        let mut remaining = planned.map_or_else(Remaining::default, Remaining::expecting);
        (0..=1_000)
            .filter_map(|step| remaining.seconds(step as f64 / 1_000.0, real * step as f64 / 1_000.0))
            .collect()
    }

    #[test]
    fn it_begins_with_the_planned_duration() {
        let mut remaining = Remaining::expecting(33.0);
        assert_eq!(remaining.text(0.0, 0.0), "about 33 s");
        assert_eq!(remaining.text(0.0, 0.9), "about 33 s");
        assert_eq!(remaining.text(0.5, 16.5), "17 s left");
        assert_eq!(remaining.text(0.985, 32.5), "1 s left");
        assert_eq!(remaining.text(1.0, 40.0), "finishing");
        assert_eq!(Remaining::expecting(1_020.0).text(0.0, 0.0), "about 17 min");
        assert_eq!(Remaining::expecting(14_400.0).text(0.0, 0.0), "about 4.0 h");
    }

    #[test]
    fn without_a_plan_it_says_how_long_it_has_worked_until_there_is_a_pace() {
        let mut remaining = Remaining::default();
        assert_eq!(remaining.text(0.0, 0.2), "1 s so far");
        assert_eq!(remaining.text(0.0, 4.0), "4 s so far");
        assert_eq!(remaining.text(0.1, 4.0), "36 s left");
    }

    #[test]
    fn no_estimate_doubles_nor_is_zero_before_the_end() {
        for (planned, real) in
            [(Some(33.0), 33.0), (Some(33.0), 50.0), (Some(33.0), 12.0), (Some(10.0), 30.0), (None, 300.0)]
        {
            let left = run(planned, real);
            let mut least = f64::INFINITY;
            for (step, &now) in left.iter().enumerate() {
                assert!(now < 2.0 * least, "{planned:?} {real}: {now} after {least}, step {step}");
                assert!(now > 0.0 || step + 1 == left.len(), "{planned:?} {real}: {step}");
                least = least.min(now);
            }
        }
    }

    #[test]
    fn work_that_stands_still_is_not_almost_done() {
        let mut remaining = Remaining::expecting(30.0);
        let left: Vec<f64> =
            (0..300).filter_map(|second| remaining.seconds(0.0, f64::from(second))).collect();
        assert!(left.iter().all(|&left| left >= 15.0));
    }
}
