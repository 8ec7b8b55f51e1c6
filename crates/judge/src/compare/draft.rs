//! From a pair to a draft of its row: the figure that is compared, its values by process or run, and the share that the
//! machine explains.

use super::machine::{Explained, Machine};
use super::pairs::{Pair, instructions};
use super::spread::Class;
use crate::stats::{Column, Shift, Z, median, shift, smallest_chance};
use tollgate_record::{EpochFigure, Estimate, Measurement, Run, phase};

/// The quantile of the normal distribution behind the intervals of the record.
const Z_RECORD: f64 = 1.959_963_984_540_054;
/// Runs of one side whose counts differ by a larger share do not repeat themselves.
const REPEATS: f64 = 0.02;
/// Random events differ by this many times the root of their number.
const RANDOM: f64 = 2.0;
/// Kinds of crossings that other programs and the scheduler cause, too.
const SCHEDULED: [&str; 3] = ["switch", "wake-up", "interrupt"];

/// Facts of the whole comparison, on which every row's verdict depends.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    /// A change up to this share counts as none.
    pub(super) margin: f64,
    pub(super) machine: &'a Machine,
    pub(super) sides: [&'a [Run]; 2],
    pub(super) interleaved: bool,
    /// The margin of `--until`, if the runs stopped by it.
    pub(super) until: Option<f64>,
    pub(super) by_runs: bool,
    pub(super) at_one_frequency: bool,
    /// Both sides pay the same prices for crossings.
    pub(super) at_one_price: bool,
    /// The most processes of any probe in one run, so that each run has its own places.
    pub(super) most_epochs: usize,
}

/// A pair on the way to its row.
pub(super) struct Draft {
    pub(super) kind: Kind,
    pub(super) class: Class,
    pub(super) at_one_frequency: bool,
}

pub(super) enum Kind {
    Exact([f64; 2]),
    Sampled(Sampled),
    /// Logarithms of the ratio of neighbors: of batches by epoch, or of runs.
    Paired(Column),
    /// Counts of what a program crossed.
    Counted([f64; 2], Option<Doubt>),
    /// Estimates and intervals only: the records keep no processes.
    Intervals(Shift),
    /// No ratio, and why.
    None(&'static str),
}

/// Figures of processes or runs, as logarithms.
pub(super) struct Sampled {
    /// By unit, A's and B's; those that a yardstick explains are without what it explains.
    pub(super) units: [Column; 2],
    /// From the center of A's to that of B's.
    pub(super) shift: Shift,
    pub(super) explained: Option<Explained>,
}

/// Why counts that differ give no verdict.
#[derive(Clone, Copy)]
pub(super) enum Doubt {
    NotRepeatable,
    Scheduled,
    ByChance,
}

impl Doubt {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::NotRepeatable => "not repeatable: the runs of one side differ by more than 2 %",
            Self::Scheduled => "depends on what else runs; compare 4 runs of each",
            Self::ByChance => "random events differ by as much; compare 4 runs of each",
        }
    }
}

const OTHER_UNITS: Kind = Kind::None("its figure is in nanoseconds on one side and in cycles on the other");
const ZERO: Kind = Kind::None("its figure is zero or less within its error, so that a ratio means nothing");
const NO_PROCESS: Kind = Kind::None("there is no process to compare");
const NO_INTERVAL: Kind =
    Kind::None("the records keep no processes, and no interval was measured on one side");
/// Bills of which one has a core and the other has none.
const OTHER_COUNTS: Kind =
    Kind::None("it is instructions without cycles in a part of the runs; give all of them the same --core");
const OTHER_INSTRUCTIONS: Kind = Kind::None("its instructions differ among the runs of one side");

impl Draft {
    pub(super) fn shift(&self) -> Option<Shift> {
        match &self.kind {
            Kind::Sampled(sampled) => Some(sampled.shift),
            _ => None,
        }
    }

    /// True if B's figure was adjusted by the yardsticks.
    pub(super) fn is_explained(&self) -> bool {
        matches!(&self.kind, Kind::Sampled(Sampled { explained: Some(_), .. }))
    }
}

impl Judge<'_> {
    pub(super) fn draft(&self, pair: &Pair<'_>) -> Draft {
        let class = Class::of(pair.a[0].1);
        let known = all(pair).flat_map(|it| &it.epochs).all(|epoch| epoch.core_hz.is_some_and(|hz| hz > 0.0));
        // Transfers between two CPUs follow the clock of the caches between them, not the core's.
        let at_one_frequency =
            self.at_one_frequency && known && class != Class::Across && pair.part.is_none();
        let kind = self.kind(pair, at_one_frequency);
        Draft { at_one_frequency: at_one_frequency && matches!(kind, Kind::Sampled(_)), kind, class }
    }

    fn kind(&self, pair: &Pair<'_>, at_one_frequency: bool) -> Kind {
        if let Some(((unit_a, a), (unit_b, b))) = exact(&pair.a).zip(exact(&pair.b))
            && unit_a == unit_b
        {
            return Kind::Exact([a, b]);
        }
        let is_toll = all(pair).all(|result| result.found.toll().is_some());
        match pair.part {
            // The price is the same, so that tolls differ as the counts do.
            Some(phase::TOLL) if is_toll && self.at_one_price => return self.counted(pair),
            Some(_) => return self.part(pair),
            None if is_toll => return self.counted(pair),
            None => {}
        }
        if all(pair).any(|result| instructions(result).is_some()) {
            let alike = all(pair).all(|result| instructions(result).is_some());
            return if alike { OTHER_INSTRUCTIONS } else { OTHER_COUNTS };
        }
        let Some(estimates) = all(pair).map(estimate).collect::<Option<Vec<&Estimate>>>() else {
            return OTHER_UNITS;
        };
        let in_ns = pair.a[0].1.ns.is_some();
        if all(pair).any(|result| result.ns.is_some() != in_ns) {
            return OTHER_UNITS;
        }
        if estimates.iter().any(|it| it.estimate <= 0.0 || (it.is_measured() && it.is_zero_within_error())) {
            return ZERO;
        }
        if all(pair).any(|result| result.epochs.is_empty()) {
            return by_intervals(&pair.a, &pair.b);
        }
        if let Some(logs) = self.paired(pair) {
            return Kind::Paired(logs);
        }
        if all(pair).flat_map(|result| &result.epochs).any(|epoch| epoch.ns <= 0.0) {
            return Kind::None("some processes gave zero or less");
        }
        let units = [&pair.a, &pair.b].map(|results| self.units(results, at_one_frequency));
        if self.interleaved && self.by_runs {
            return in_turns(&units);
        }
        self.sampled(pair, units, at_one_frequency)
    }

    /// Without the effect of the yardsticks, if they explain the row.
    fn sampled(&self, pair: &Pair<'_>, units: [Column; 2], at_one_frequency: bool) -> Kind {
        let [a, b] = units.each_ref().map(there);
        let Some(shift) = shift(&a, &b) else { return NO_PROCESS };
        let separate = at_one_frequency && !self.interleaved && !self.by_runs;
        let enough = smallest_chance(a.len(), b.len()) <= crate::stats::CHANCE;
        let sides = [&pair.a[..], &pair.b[..]];
        let found = (separate && enough)
            .then(|| self.machine.explain(sides, &units, shift, self.most_epochs))
            .flatten();
        Kind::Sampled(match found {
            Some((units, shift, explained)) => Sampled { units, shift, explained: Some(explained) },
            None => Sampled { units, shift, explained: None },
        })
    }

    /// The logarithm of the ratio of each epoch of each run, if the two were measured in pairs of batches.
    fn paired(&self, pair: &Pair<'_>) -> Option<Column> {
        let log = |epoch: &EpochFigure| epoch.paired.map(|it| it.ratio.ln()).filter(|it| it.is_finite());
        let mut logs = Column::new();
        for (run, b) in &pair.b {
            logs.resize(logs.len().max(run * self.most_epochs), None);
            logs.extend(b.epochs.iter().map(log));
        }
        (self.interleaved && logs.iter().any(Option::is_some)).then_some(logs)
    }

    /// A part of a program's time.
    fn part(&self, pair: &Pair<'_>) -> Kind {
        let ns = |result: &Measurement| pair.part_ns(result).unwrap_or(0.0);
        match all(pair).any(|result| ns(result) <= 0.0) {
            true => ZERO,
            false => self.by_run(pair, ns),
        }
    }

    /// Figures of which each run has one.
    fn by_run(&self, pair: &Pair<'_>, figure: impl Fn(&Measurement) -> f64) -> Kind {
        let units = [&pair.a, &pair.b].map(|results| {
            let mut units: Column = Vec::new();
            for (run, result) in results {
                units.resize(units.len().max(*run), None);
                units.push(Some(figure(result).ln()));
            }
            units
        });
        if self.interleaved && self.by_runs {
            return in_turns(&units);
        }
        let [a, b] = units.each_ref().map(there);
        shift(&a, &b).map_or(NO_PROCESS, |shift| Kind::Sampled(Sampled { units, shift, explained: None }))
    }

    /// Counts of a program's crossings: the same in each run, or random. Enough runs of each side show which.
    fn counted(&self, pair: &Pair<'_>) -> Kind {
        let sides = [&pair.a, &pair.b];
        let counts = |results: &[(usize, &Measurement)]| -> Vec<f64> {
            results.iter().map(|(_, result)| result.crossings as f64).collect()
        };
        let [a, b] = sides.map(|results| counts(results));
        let spread = |counts: &[f64]| {
            let (low, high) =
                counts.iter().fold((f64::MAX, f64::MIN), |(low, high), it| (low.min(*it), high.max(*it)));
            (high - low) / high.max(1.0)
        };
        let varies = spread(&a).max(spread(&b));
        let in_all = a.len() == self.sides[0].len() && b.len() == self.sides[1].len();
        if self.by_runs && !(in_all && varies == 0.0) && a.iter().chain(&b).all(|count| *count > 0.0) {
            return self.by_run(pair, |result| result.crossings as f64);
        }
        let (low, high) = (median(&a).min(median(&b)), median(&a).max(median(&b)));
        let kind = pair.a[0].1.found.toll().map_or("", |toll| toll.kind.as_str());
        let doubt = if varies > REPEATS {
            Some(Doubt::NotRepeatable)
        } else if low == high {
            None
        } else if SCHEDULED.contains(&kind) {
            Some(Doubt::Scheduled)
        } else {
            (high - low <= RANDOM * high.sqrt()).then_some(Doubt::ByChance)
        };
        Kind::Counted([median(&a), median(&b)], doubt)
    }

    /// The logarithms by unit; units in which the probe has none are absent. A unit is a process, of whichever
    /// run, or a run. The same process has the same place for all probes.
    pub(super) fn units(&self, results: &[(usize, &Measurement)], at_one_frequency: bool) -> Column {
        let each = if self.by_runs { 1 } else { self.most_epochs };
        let mut units = Vec::new();
        for (run, result) in results {
            let logs = logs(result, at_one_frequency);
            let logs = if self.by_runs { vec![median(&logs)] } else { logs };
            units.resize(units.len().max(run * each), None);
            units.extend(logs.into_iter().map(Some));
        }
        units
    }
}

/// The logarithms of the epochs of a row, around the figure that the record prints for it. That figure is the median of its epochs
/// except for rounding, unless the record has another one: the printed figure is compared in any case.
fn logs(result: &Measurement, at_one_frequency: bool) -> Vec<f64> {
    let of_time: Vec<f64> = result.epochs.iter().map(|epoch| epoch.ns.ln()).collect();
    let printed = result.ns.map_or(f64::NAN, |ns| ns.estimate.ln()) - median(&of_time);
    let printed = if printed.is_finite() { printed } else { 0.0 };
    let hz = |epoch: &EpochFigure| epoch.core_hz.filter(|_| at_one_frequency).unwrap_or(1.0).ln();
    result.epochs.iter().zip(of_time).map(|(epoch, log)| log + hz(epoch) + printed).collect()
}

/// Each run of B against its neighbor, where the runs of both sides took turns.
fn in_turns([a, b]: &[Column; 2]) -> Kind {
    let log = |(a, b): (&Option<f64>, &Option<f64>)| Some((*b)? - (*a)?).filter(|it| it.is_finite());
    let logs: Column = a.iter().zip(b).map(log).collect();
    if logs.iter().all(Option::is_none) {
        return Kind::None("no two runs that took turns have it");
    }
    Kind::Paired(logs)
}

pub(super) fn all<'r>(pair: &Pair<'r>) -> impl Iterator<Item = &'r Measurement> {
    pair.a.iter().chain(&pair.b).map(|(_, result)| *result)
}

/// The values of the units that have one.
pub(super) fn there(units: &Column) -> Vec<f64> {
    units.iter().copied().flatten().collect()
}

/// The figure of a simulator: instructions, or cycles without nanoseconds and without width, the same in all runs.
fn exact(results: &[(usize, &Measurement)]) -> Option<(&'static str, f64)> {
    let of = |result: &Measurement| {
        if let Some(count) = instructions(result) {
            return Some(("instructions", count));
        }
        let cycles = result.cycles.filter(|it| it.ci == [it.estimate, it.estimate])?;
        result.ns.is_none().then_some(("cycles", cycles.estimate))
    };
    let first = of(results.first()?.1)?;
    results.iter().all(|(_, result)| of(result) == Some(first)).then_some(first)
}

pub(super) fn estimate(result: &Measurement) -> Option<&Estimate> {
    result.ns.as_ref().or(result.cycles.as_ref())
}

/// From the intervals of the record, each widened to the level of a comparison. Sides of several runs are taken
/// by their first.
fn by_intervals(a: &[(usize, &Measurement)], b: &[(usize, &Measurement)]) -> Kind {
    let (Some((_, a)), Some((_, b))) = (a.first(), b.first()) else { return OTHER_UNITS };
    let Some((a, b)) = a.ns.zip(b.ns).or(a.cycles.zip(b.cycles)) else { return OTHER_UNITS };
    // A figure that other tools print without an interval has one of no width in older records.
    if [a, b].iter().any(|it| !it.is_measured() || it.ci[0] >= it.ci[1]) {
        return NO_INTERVAL;
    }
    let halves = |it: Estimate| {
        [(it.estimate / it.ci[0]).ln(), (it.ci[1] / it.estimate).ln()].map(|half| half * Z / Z_RECORD)
    };
    let ([below_a, above_a], [below_b, above_b]) = (halves(a), halves(b));
    let estimate = (b.estimate / a.estimate).ln();
    // The halves are added in full: without a test it takes two intervals that do not even overlap.
    let (low, high) = (estimate - below_b - above_a, estimate + above_b + below_a);
    if [estimate, low, high].iter().all(|value| value.is_finite()) {
        Kind::Intervals(Shift { estimate, low: low.min(estimate), high: high.max(estimate) })
    } else {
        Kind::None("its interval is not usable")
    }
}
