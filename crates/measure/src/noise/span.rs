//! Around a span: the difference of two readings of the kernel's accounts.

use super::own::OwnMark;
use super::stat::CpuTimes;

/// The kernel's accounts of one CPU at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuMark {
    /// Which CPU.
    pub cpu: usize,
    /// Its time.
    pub times: Option<CpuTimes>,
    /// Interrupts of devices that it has taken.
    pub device_interrupts: Option<u64>,
}

/// The kernel's accounts at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The moment in nanoseconds of any steady clock.
    pub at_ns: u64,
    /// The measured CPU.
    pub measured: CpuMark,
    /// The CPU of the other side.
    pub peer: Option<CpuMark>,
    /// CPU time of our own processes.
    pub own: Option<OwnMark>,
}

/// A share of a span with what it may be at least and at most. A difference is not clamped: a share
/// below zero or above one shows by how much the accounts disagree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The likeliest value; 0.02 is 2 %.
    pub estimate: f64,
    /// At least.
    pub low: f64,
    /// At most.
    pub high: f64,
    /// The standard error of the ends: the accounts are a sample, cut to whole ticks.
    pub chance: f64,
}

impl Share {
    /// The mean of this and another share, this one with a weight from 0 to 1. What chance does to one, it does not do to
    /// the other.
    fn mean(&self, weight: f64, other: &Self) -> Self {
        let mean = |a: f64, b: f64| a * weight + b * (1.0 - weight);
        let chance = (self.chance * weight).hypot(other.chance * (1.0 - weight));
        Self {
            estimate: mean(self.estimate, other.estimate),
            low: mean(self.low + self.chance, other.low + other.chance) - chance,
            high: mean(self.high - self.chance, other.high - other.chance) + chance,
            chance,
        }
    }
}

/// The disturbances on one CPU during a span.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuNoise {
    /// Which CPU.
    pub cpu: usize,
    /// Nanoseconds that the hypervisor gave to somebody else while the CPU had work.
    pub steal_ns: Option<u64>,
    /// Share of the span that went to tasks which are not ours.
    pub other: Option<Share>,
    /// Interrupts of devices taken.
    pub device_interrupts: Option<u64>,
}

impl CpuNoise {
    /// This and another span of the same CPU, of the given lengths.
    fn and(&self, length: u64, other: &Self, other_length: u64) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.saturating_add(b));
        let weight = length as f64 / (length + other_length).max(1) as f64;
        Self {
            cpu: self.cpu,
            steal_ns: sum(self.steal_ns, other.steal_ns),
            other: self.other.zip(other.other).map(|(a, b)| a.mean(weight, &b)),
            device_interrupts: sum(self.device_interrupts, other.device_interrupts),
        }
    }
}

/// The disturbances during a span.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpanNoise {
    /// Its length in nanoseconds.
    pub elapsed_ns: u64,
    /// The measured CPU.
    pub measured: CpuNoise,
    /// The CPU of the other side.
    pub peer: Option<CpuNoise>,
}

impl SpanNoise {
    /// Several spans as one: times and counts added up, shares weighted by length. What is unknown of one is
    /// unknown of the whole.
    #[must_use]
    pub fn total(spans: &[Self]) -> Option<Self> {
        spans.iter().copied().reduce(|sum, span| Self {
            elapsed_ns: sum.elapsed_ns + span.elapsed_ns,
            measured: sum.measured.and(sum.elapsed_ns, &span.measured, span.elapsed_ns),
            peer: sum.peer.zip(span.peer).map(|(a, b)| a.and(sum.elapsed_ns, &b, span.elapsed_ns)),
        })
    }
}

/// The disturbances between two marks, with `tick_ns` nanoseconds to a tick of the accounts.
pub(super) fn between(from: &Mark, to: &Mark, tick_ns: u64) -> SpanNoise {
    let elapsed_ns = to.at_ns.saturating_sub(from.at_ns);
    let one = |(before, after): (&CpuMark, &CpuMark)| {
        let own = from.own.as_ref().zip(to.own.as_ref()).map(|(a, b)| b.on_cpu_since(a, after.cpu));
        // The accounts may run backwards by a little; such a difference counts as zero.
        let since = |a: u64, b: u64| b.saturating_sub(a);
        let ns = |of: fn(&CpuTimes) -> u64| {
            let (a, b) = before.times.as_ref().zip(after.times.as_ref())?;
            Some(since(of(a), of(b)).saturating_mul(tick_ns))
        };
        let tasks = ns(|it| it.user).zip(ns(|it| it.system)).map(|(a, b)| a.saturating_add(b));
        let known = tasks.zip(ns(|it| it.interrupt)).zip(own).filter(|_| elapsed_ns > 0);
        CpuNoise {
            cpu: after.cpu,
            steal_ns: ns(|it| it.steal),
            other: known.map(|((tasks, interrupt), own)| other(tasks, interrupt, own, elapsed_ns, tick_ns)),
            device_interrupts: before
                .device_interrupts
                .zip(after.device_interrupts)
                .map(|(a, b)| since(a, b)),
        }
    };
    SpanNoise {
        elapsed_ns,
        measured: one((&from.measured, &to.measured)),
        peer: from.peer.as_ref().zip(to.peer.as_ref()).map(one),
    }
}

/// Ticks by which a difference of the accounts is wrong because each of its fields is cut to whole ticks:
/// one for user, system and interrupt time each, and one for our own total.
const ROUNDING_TICKS: f64 = 4.0;

/// The share of a span that tasks which are not ours took.
///
/// The accounts of a CPU are a sample: at each tick the whole tick is charged to the task that runs at that moment. Of n
/// ticks a share p goes wrong by sqrt(p (1 - p) / n), taken twice here. Whether our own time includes
/// the interrupts that it was interrupted by depends on how the kernel was built, so that they widen
/// the interval too.
fn other(tasks: u64, interrupt: u64, own: (u64, u64), elapsed_ns: u64, tick_ns: u64) -> Share {
    let elapsed = elapsed_ns as f64;
    let share = |ns: u64| ns as f64 / elapsed;
    let (tasks, interrupt, own_low, own_high) = (share(tasks), share(interrupt), share(own.0), share(own.1));
    let tick = tick_ns as f64 / elapsed;
    // p (1 - p) of our own part and of the rest; at p = 1 nothing is left to chance.
    let ours = own_high.clamp(0.0, 1.0);
    let theirs = (tasks + interrupt - own_low).clamp(0.0, 1.0);
    let spread = (ours * (1.0 - ours)).max(theirs * (1.0 - theirs));
    let error = 2.0 * (spread * tick).sqrt() + ROUNDING_TICKS * tick;
    Share {
        estimate: tasks - f64::midpoint(own_low, own_high),
        low: tasks - own_high - error,
        high: tasks + interrupt - own_low + error,
        chance: error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_add_up_and_shares_are_weighted_by_length() {
        let span = |elapsed_ns, other, steal| SpanNoise {
            elapsed_ns,
            measured: CpuNoise {
                cpu: 1,
                other: Some(Share { estimate: other, low: 0.0, high: 1.0, chance: 0.0 }),
                steal_ns: steal,
                ..CpuNoise::default()
            },
            ..SpanNoise::default()
        };
        let total = SpanNoise::total(&[span(100, 0.0, Some(1)), span(300, 0.4, Some(2))]).unwrap();
        assert_eq!(total.elapsed_ns, 400);
        assert!((total.measured.other.unwrap().estimate - 0.3).abs() < 1e-12);
        assert_eq!(total.measured.steal_ns, Some(3));
        let unknown = SpanNoise::total(&[span(100, 0.0, Some(1)), span(100, 0.0, None)]).unwrap();
        assert_eq!(unknown.measured.steal_ns, None);
        assert_eq!(SpanNoise::total(&[]), None);
    }

    #[test]
    fn many_short_spans_say_as_much_as_a_long_one() {
        // Half of the time is ours. Six spans of a quarter of a second have 25 ticks each; one alone claims little.
        let mark = |at: u64, user, own_ns| Mark { at_ns: at * SECOND / 4, ..mark(0, user, 0, own_ns) };
        let short = between(&mark(0, 0, 0), &mark(1, 25, SECOND / 8), TICK);
        let alone = short.measured.other.unwrap();
        assert!(alone.low < 0.15, "{alone:?}");
        let six = SpanNoise::total(&[short; 6]).unwrap().measured.other.unwrap();
        // The standard error of six means is divided by the root of six.
        assert!((six.chance - alone.chance / 6_f64.sqrt()).abs() < 1e-12);
        assert!((six.estimate - 0.5).abs() < 1e-9 && six.low > 0.3 && six.high < 0.7, "{six:?}");
    }
    use crate::noise::own::ThreadTime;

    const TICK: u64 = 10_000_000;
    const SECOND: u64 = 1_000_000_000;

    fn mark(at_s: u64, user: u64, steal: u64, own_ns: u64) -> Mark {
        let times = CpuTimes { user, system: 0, interrupt: 0, steal };
        Mark {
            at_ns: at_s * SECOND,
            measured: CpuMark { cpu: 1, times: Some(times), device_interrupts: Some(at_s * 3_000) },
            own: Some(OwnMark {
                threads: [(7, ThreadTime { cpu: 1, ran_ns: own_ns })].into(),
                total_ns: own_ns,
            }),
            ..Mark::default()
        }
    }

    #[test]
    fn a_busy_loop_beside_us_is_seen_as_half_the_time() {
        // Ten seconds, 1,000 ticks, all busy; half of them ours.
        let noise = between(&mark(0, 0, 0, 0), &mark(10, 1_000, 0, 5 * SECOND), TICK);
        let other = noise.measured.other.unwrap();
        assert!((other.estimate - 0.5).abs() < 1e-9);
        assert!(other.low > 0.45 && other.high < 0.55, "{other:?}");
        assert_eq!(noise.measured.device_interrupts, Some(30_000));
    }

    #[test]
    fn our_own_work_alone_is_not_told_from_zero() {
        let noise = between(&mark(0, 0, 0, 0), &mark(10, 993, 0, 9_940_000_000), TICK);
        let other = noise.measured.other.unwrap();
        assert!(other.low < 0.0 && other.high > 0.0, "{other:?}");
        // One tick less than we used: signed, not clamped.
        assert!(other.estimate < 0.0);
    }

    #[test]
    fn a_short_span_claims_little() {
        let noise = between(&mark(0, 0, 0, 0), &mark(1, 6, 0, 0), TICK);
        let other = noise.measured.other.unwrap();
        assert!((other.estimate - 0.06).abs() < 1e-9 && other.low < 0.0, "{other:?}");
    }

    #[test]
    fn books_that_run_backwards_and_empty_spans_give_no_nonsense() {
        let noise = between(&mark(10, 1_000, 5, SECOND), &mark(10, 0, 0, 0), TICK);
        assert_eq!(noise.elapsed_ns, 0);
        assert_eq!(noise.measured.steal_ns, Some(0));
        assert_eq!(noise.measured.other, None);
        let huge = between(&mark(0, 0, 0, 0), &mark(1, u64::MAX, u64::MAX, u64::MAX), TICK);
        assert_eq!(huge.measured.steal_ns, Some(u64::MAX));
    }
}
