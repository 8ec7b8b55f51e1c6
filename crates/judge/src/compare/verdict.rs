//! From a pair to its row: ratio, interval, test, verdict.

use super::machine::{Explained, Machine};
use super::pairs::{Pair, instructions};
use super::result::{ComparedProbe, Options, Verdict};
use super::spread::{
    CAP, Class, ENOUGH_CONTROLS, between_runs, is_control, is_control_across, machine_wide, most_moved,
};
use crate::sequence::{LEAST_OF_PAIRS, confidence_sequence};
use crate::stats::{
    CHANCE, Column, POWER, Shift, Signs, Z, center_of_pairs, chances, cliff, median, shift, signs,
    smallest_chance, smallest_chance_of_signs,
};
use tollgate_record::{EpochFigure, Estimate, Measurement, phase};

/// So many runs on either side are the units of the test in place of their processes: then what differs from
/// run to run shows by itself.
pub(super) const ENOUGH_RUNS: usize = 4;
/// The same as [`CHANCE`] for pairs: one comparison of equal programs in five hundred names a probe.
const CHANCE_OF_PAIRS: f64 = 0.002;
/// The quantile of the normal distribution behind the intervals of the record.
const Z_RECORD: f64 = 1.959_963_984_540_054;

pub(super) struct Judge<'a> {
    pub(super) options: &'a Options,
    pub(super) machine: &'a Machine,
    pub(super) spoiled: bool,
    pub(super) interleaved: bool,
    /// The margin of `--until`, if the runs stopped by it.
    pub(super) until: Option<f64>,
    pub(super) by_runs: bool,
    pub(super) at_one_frequency: bool,
    /// Whether crossings cost the same on both sides.
    pub(super) at_one_price: bool,
    /// The most processes of any probe in one run, so that each run has its own places.
    pub(super) most_epochs: usize,
}

/// How far work moved, in logarithms, if it certainly did.
#[derive(Default)]
struct Fixed {
    /// That of a yardstick in which the kernel takes no part.
    user: Option<f64>,
    /// The way into the kernel and back, the kernel being the same.
    entry: Option<f64>,
    /// What two CPUs do to each other without the kernel.
    across: Option<f64>,
}

/// A pair on the way to its row.
struct Draft {
    kind: Kind,
    class: Class,
    at_one_frequency: bool,
}

enum Kind {
    Exact([f64; 2]),
    /// Logarithms by unit, and what they say.
    Sampled {
        units: [Column; 2],
        shift: Shift,
        explained: Option<Explained>,
    },
    /// Logarithms of the ratio of neighbors: of batches by epoch, or of runs.
    Paired(Column),
    /// Counts of what a program crossed.
    Counted([f64; 2], Option<Counted>),
    /// Estimates and intervals only: the records keep no processes.
    Intervals(Shift),
    /// No ratio, and why.
    None(&'static str),
}

/// Why counts that differ give no verdict.
#[derive(Clone, Copy)]
enum Counted {
    NotRepeatable,
    Scheduled,
    ByChance,
}

/// Runs of one side whose counts differ by a larger share do not repeat themselves.
const REPEATS: f64 = 0.02;
/// Random events differ by this many times the root of their number.
const RANDOM: f64 = 2.0;
/// Kinds of crossings that other programs and the scheduler cause, too.
const SCHEDULED: [&str; 3] = ["switch", "wake-up", "interrupt"];

const OTHER_UNITS: Kind = Kind::None("its figure is in nanoseconds on one side and in cycles on the other");

const ZERO: Kind = Kind::None("its figure is zero or less within its error, so that a ratio means nothing");

const NO_PROCESS: Kind = Kind::None("there is no process to compare");

/// Bills of which one has a core and the other has none.
const OTHER_COUNTS: Kind =
    Kind::None("it is instructions without cycles in a part of the runs; give all of them the same --core");
const OTHER_INSTRUCTIONS: Kind = Kind::None("its instructions differ among the runs of one side");

impl Draft {
    fn shift(&self) -> Option<Shift> {
        match self.kind {
            Kind::Sampled { shift, .. } => Some(shift),
            _ => None,
        }
    }

    /// Whether a yardstick was taken out of it.
    fn is_explained(&self) -> bool {
        matches!(&self.kind, Kind::Sampled { explained: Some(_), .. })
    }
}

impl Judge<'_> {
    /// The rows, how the probes that never enter the kernel moved, where the machine itself did, and how the way into the
    /// same kernel did.
    pub(super) fn rows(&self, pairs: &[Pair<'_>]) -> (Vec<ComparedProbe>, [Option<f64>; 2]) {
        let drafts: Vec<Draft> = pairs.iter().map(|pair| self.draft(pair)).collect();
        let chances = self.chances(&drafts);
        let controls: Vec<Shift> = self.controls(&drafts, pairs);
        let machine = machine_wide(&controls);
        let moved =
            machine.map(|_| median(&controls.iter().map(|shift| shift.estimate).collect::<Vec<f64>>()).exp());
        let of_class = Class::ALL.map(|class| self.between(class, &drafts, pairs, machine));
        let fixed = self.fixed(&drafts, pairs);
        let signs = Self::signs(&drafts);
        let between: Vec<f64> = drafts
            .iter()
            .zip(pairs)
            .map(|(draft, pair)| {
                // What no yardstick explains may have moved as far as the work that it consists of.
                let moved = match draft.class {
                    Class::Across => [fixed.across, None],
                    _ if draft.is_explained() => [None; 2],
                    _ => [fixed.user, fixed.entry.filter(|_| !is_control(pair.a[0].1))],
                };
                moved.into_iter().flatten().map(f64::abs).fold(of_class[draft.class as usize], f64::max)
            })
            .collect();
        let row = |((((pair, draft), chance), signs), between)| self.row(pair, draft, chance, signs, between);
        let rows = pairs.iter().zip(drafts).zip(chances).zip(signs).zip(between);
        (rows.map(row).collect(), [moved, fixed.entry.map(f64::exp)])
    }

    /// How far work moved that no change can have moved.
    fn fixed(&self, drafts: &[Draft], pairs: &[Pair<'_>]) -> Fixed {
        if self.interleaved || self.by_runs || !self.at_one_frequency {
            return Fixed::default();
        }
        let across = drafts.iter().zip(pairs).filter(|(_, pair)| is_control_across(pair.a[0].1));
        let across: Vec<Shift> = across.filter_map(|(draft, _)| draft.shift()).collect();
        Fixed {
            user: most_moved(&self.machine.moved(false), CAP),
            // Where a run meets the slow machine in all of its processes, no yardstick explains a row: whatever is certain counts.
            entry: most_moved(&self.machine.moved(true), 0.0),
            // What two CPUs do to each other varies so much anyway that whatever is certain counts.
            across: most_moved(&across, 0.0),
        }
    }

    /// The shifts of probes that never enter the kernel, where nothing but the machine can have moved them: in runs
    /// of one host one after the other, with differences of the core's frequency taken out.
    fn controls(&self, drafts: &[Draft], pairs: &[Pair<'_>]) -> Vec<Shift> {
        if self.interleaved || self.by_runs || !self.at_one_frequency {
            return Vec::new();
        }
        let controls = drafts.iter().zip(pairs).filter(|(_, pair)| is_control(pair.a[0].1));
        let mut controls: Vec<Shift> = controls.filter_map(|(draft, _)| draft.shift()).collect();
        if controls.len() < ENOUGH_CONTROLS {
            controls.extend(self.machine.moved(false));
        }
        controls
    }

    fn draft(&self, pair: &Pair<'_>) -> Draft {
        let class = Class::of(pair.a[0].1);
        let known = all(pair).flat_map(|it| &it.epochs).all(|epoch| epoch.core_hz.is_some_and(|hz| hz > 0.0));
        // What two CPUs do to each other goes by the clock of the caches between them.
        let at_one_frequency = self.at_one_frequency && known && class != Class::Across;
        let kind = self.kind(pair, at_one_frequency);
        Draft { at_one_frequency: at_one_frequency && matches!(kind, Kind::Sampled { .. }), kind, class }
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
        if estimates.iter().any(|it| it.is_zero_within_error() || it.estimate <= 0.0) {
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
        let [a, b] = units.each_ref().map(there);
        match shift(&a, &b) {
            Some(shift) => self.sampled(pair, units, shift, at_one_frequency),
            None => NO_PROCESS,
        }
    }

    /// Without what a yardstick explains, if one does.
    fn sampled(&self, pair: &Pair<'_>, units: [Column; 2], shift: Shift, at_one_frequency: bool) -> Kind {
        let separate = at_one_frequency && !self.interleaved && !self.by_runs;
        let sides = [&pair.a[..], &pair.b[..]];
        let found = separate.then(|| self.machine.explain(sides, shift, self.most_epochs)).flatten();
        match found {
            Some((units, shift, explained)) => Kind::Sampled { units, shift, explained: Some(explained) },
            None => Kind::Sampled { units, shift, explained: None },
        }
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

    /// What the test of pairs says of each draft that has them.
    fn signs(drafts: &[Draft]) -> Vec<Option<Signs>> {
        let columns = drafts.iter().map(|draft| match &draft.kind {
            Kind::Paired(logs) => Some(logs.clone()),
            _ => None,
        });
        let columns: Vec<Option<Column>> = columns.collect();
        let all: Vec<Column> = columns.iter().flatten().cloned().collect();
        let mut found = signs(&all, CHANCE_OF_PAIRS).into_iter();
        columns.iter().map(|column| column.as_ref().and_then(|_| found.next())).collect()
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
        shift(&a, &b).map_or(NO_PROCESS, |shift| Kind::Sampled { units, shift, explained: None })
    }

    /// Counts of a program's crossings: the same in each run, or random. Enough runs of each side show which.
    fn counted(&self, pair: &Pair<'_>) -> Kind {
        let sides = [&pair.a, &pair.b];
        let counts = |results: &[(usize, &Measurement)]| -> Vec<f64> {
            results.iter().map(|(_, result)| result.crossings as f64).collect()
        };
        let [a, b] = sides.map(|results| counts(results));
        if self.by_runs && a.iter().chain(&b).all(|count| *count > 0.0) {
            return self.by_run(pair, |result| result.crossings as f64);
        }
        let spread = |counts: &[f64]| {
            let (low, high) =
                counts.iter().fold((f64::MAX, f64::MIN), |(low, high), it| (low.min(*it), high.max(*it)));
            (high - low) / high.max(1.0)
        };
        let (low, high) = (median(&a).min(median(&b)), median(&a).max(median(&b)));
        let kind = pair.a[0].1.found.toll().map_or("", |toll| toll.kind.as_str());
        let doubt = if spread(&a).max(spread(&b)) > REPEATS {
            Some(Counted::NotRepeatable)
        } else if low == high {
            None
        } else if SCHEDULED.contains(&kind) {
            Some(Counted::Scheduled)
        } else {
            (high - low <= RANDOM * high.sqrt()).then_some(Counted::ByChance)
        };
        Kind::Counted([median(&a), median(&b)], doubt)
    }

    /// The logarithms by unit; units in which the probe has none are absent. A unit is a process, of whichever
    /// run, or a run. The same process has the same place for all probes.
    fn units(&self, results: &[(usize, &Measurement)], at_one_frequency: bool) -> Column {
        let each = if self.by_runs { 1 } else { self.most_epochs };
        let mut units = Vec::new();
        for (run, result) in results {
            let log = |epoch: &EpochFigure| {
                epoch.ns.ln() + epoch.core_hz.filter(|_| at_one_frequency).unwrap_or(1.0).ln()
            };
            let logs: Vec<f64> = result.epochs.iter().map(log).collect();
            let logs = if self.by_runs { vec![median(&logs)] } else { logs };
            units.resize(units.len().max(run * each), None);
            units.extend(logs.into_iter().map(Some));
        }
        units
    }

    /// One corrected chance for each draft that can be tested.
    fn chances(&self, drafts: &[Draft]) -> Vec<Option<f64>> {
        let units = |draft: &Draft| match &draft.kind {
            Kind::Sampled { units, .. } => Some(units.clone()),
            _ => None,
        };
        let mut all: Vec<Option<[Column; 2]>> = drafts.iter().map(units).collect();
        for side in [0, 1] {
            let most = all.iter().flatten().map(|units| units[side].len()).max().unwrap_or(0);
            all.iter_mut().flatten().for_each(|units| units[side].resize(most, None));
        }
        let of_a = all.iter().flatten().next().map_or(0, |[a, _]| a.len());
        let mut columns: Vec<Column> = all.iter().flatten().map(|units| units.concat()).collect();
        // Places that no probe fills (the gap between two runs) are not units.
        let most = columns.first().map_or(0, Vec::len);
        let used: Vec<usize> = (0..most).filter(|&it| columns.iter().any(|all| all[it].is_some())).collect();
        let count_a = used.iter().filter(|place| **place < of_a).count();
        columns.iter_mut().for_each(|column| *column = used.iter().map(|place| column[*place]).collect());
        let mut found = chances(&columns, count_a).into_iter();
        all.iter().map(|column| column.as_ref().and_then(|_| found.next())).collect()
    }

    /// What runs differ by anyway, in a class.
    fn between(&self, class: Class, drafts: &[Draft], pairs: &[Pair<'_>], machine: Option<f64>) -> f64 {
        if self.interleaved || self.by_runs {
            return 0.0;
        }
        let of_class = drafts.iter().filter(|draft| draft.class == class);
        let shifts: Vec<Shift> = of_class.filter_map(Draft::shift).collect();
        // Runs that are pooled average out part of it.
        let runs = |side: fn(&Pair<'_>) -> usize| pairs.iter().map(side).max().unwrap_or(1).max(1) as f64;
        let (a, b) = (runs(|pair| pair.a.len()), runs(|pair| pair.b.len()));
        between_runs(class, &shifts, machine) * (1.0 / a + 1.0 / b).sqrt() / std::f64::consts::SQRT_2
    }

    fn row(
        &self,
        pair: &Pair<'_>,
        draft: Draft,
        chance: Option<f64>,
        signs: Option<Signs>,
        between: f64,
    ) -> ComparedProbe {
        let unit = match pair.a[0].1 {
            _ if pair.part.is_some() => "ns",
            toll if toll.found.toll().is_some() => "crossings",
            timed if timed.ns.is_some() => "ns",
            counted if instructions(counted).is_some() => "instructions",
            _ => "cycles",
        };
        let figure = |it: &Measurement| match unit {
            _ if pair.part.is_some() => pair.part_ns(it),
            "crossings" => Some(it.crossings as f64),
            "instructions" => instructions(it),
            _ => Some(estimate(it)?.estimate),
        };
        let figures = |side: &[(usize, &Measurement)]| {
            median(&side.iter().filter_map(|(_, it)| figure(it)).collect::<Vec<_>>())
        };
        let mut row = ComparedProbe {
            probe: pair.probe.into(),
            engine: pair.engine.into(),
            part: pair.part.map(|part| part.name.into()),
            params: pair.params.clone(),
            per: pair.per_a,
            unit,
            a: figures(&pair.a),
            b: figures(&pair.b),
            ratio: None,
            interval: None,
            at_one_frequency: draft.at_one_frequency,
            exact: false,
            chance,
            effect: None,
            units: [0, 0],
            smallest_seen: None,
            pair_spread: None,
            relative: None,
            verdict: Verdict::CannotTell,
            why: pair.other_params.clone(),
            parts: Vec::new(),
            counters: Vec::new(),
        };
        let mut paired = None;
        match draft.kind {
            Kind::None(why) => row.why = Some(why.into()),
            Kind::Exact([a, b]) => exactly(&mut row, a, b),
            Kind::Counted([a, b], doubt) => {
                exactly(&mut row, a, b);
                row.why = doubt.map(|doubt| doubt.words().into());
                let is_same = (b / a.max(1.0) - 1.0).abs() <= self.options.margin;
                row.verdict = match doubt {
                    Some(Counted::ByChance) if is_same => Verdict::Same,
                    Some(_) => Verdict::CannotTell,
                    None => row.verdict,
                };
            }
            Kind::Paired(logs) => paired = Some(logs),
            Kind::Intervals(shift) => {
                self.put(&mut row, shift, 0.0);
                row.why =
                    Some("the records keep no processes, so that only intervals can be held together".into());
                row.verdict = self.verdict(&row, CHANCE);
            }
            Kind::Sampled { units, shift, explained } => {
                row.relative = explained;
                let [a, b] = units.each_ref().map(there);
                row.units = [a.len(), b.len()];
                row.effect = Some(cliff(&a, &b));
                self.put(&mut row, shift, between);
                let least = smallest_chance(a.len(), b.len());
                row.verdict = self.verdict(&row, CHANCE);
                if least > CHANCE {
                    // A row that a few runs have was not tested: its interval alone decides nothing.
                    if row.verdict != Verdict::Same {
                        row.verdict = Verdict::CannotTell;
                    }
                    let units = if self.by_runs { "runs" } else { "processes" };
                    row.why = Some(format!("{} and {} {units} are too few for the test", a.len(), b.len()));
                }
            }
        }
        if let Some((column, signs)) = paired.as_ref().zip(signs) {
            self.put_paired(&mut row, column, signs);
            row.pair_spread = pair.b.first().and_then(|(_, result)| pair_spread(result));
        }
        if self.spoiled && !row.exact {
            row.verdict = Verdict::CannotTell;
            row.why = Some("the two sides were not measured alike".into());
        }
        row
    }

    /// Ratio and interval from a shift of logarithms, widened by what runs differ by anyway.
    fn put(&self, row: &mut ComparedProbe, shift: Shift, between: f64) {
        let wider = |half: f64| half.hypot(Z * between);
        let (below, above) = (wider(shift.estimate - shift.low), wider(shift.high - shift.estimate));
        row.ratio = Some(shift.estimate.exp());
        row.interval = Some([(shift.estimate - below).exp(), (shift.estimate + above).exp()]);
        let half = below.max(above);
        row.smallest_seen = Some((half * (1.0 + POWER / Z)).exp_m1());
    }

    /// From the logarithms of the ratios of epochs: by the test of signs after a fixed number of epochs, by the interval
    /// that stays valid while one looks if the run stopped when it was known.
    fn put_paired(&self, row: &mut ComparedProbe, column: &Column, signs: Signs) {
        let logs = there(column);
        let Some(center) = center_of_pairs(&logs) else { return };
        row.units = [logs.len(), logs.len()];
        row.ratio = Some(center.estimate.exp());
        row.effect = Some(cliff(&[0.0], &logs));
        let deviation = (center.high - center.low) / 2.0 / Z;
        if self.until.is_some() {
            let interval =
                confidence_sequence(&logs).map(|[low, high]| [low - LEAST_OF_PAIRS, high + LEAST_OF_PAIRS]);
            row.interval = interval.map(|ends| ends.map(f64::exp));
            let half = interval.map(|[low, high]| (center.estimate - low).max(high - center.estimate));
            row.smallest_seen = half.map(|half| (half + POWER * deviation).exp_m1());
            if interval.is_none() {
                row.why = Some(format!("{} pairs are too few for an interval", logs.len()));
            }
            row.verdict = self.verdict(row, 1.0);
            return;
        }
        row.chance = Some(signs.chance);
        row.interval = Some([(center.low - LEAST_OF_PAIRS).exp(), (center.high + LEAST_OF_PAIRS).exp()]);
        let [low, high] = signs.all;
        let half = (high - center.estimate).max(center.estimate - low) + LEAST_OF_PAIRS;
        row.smallest_seen = Some((half + POWER * deviation).exp_m1());
        row.verdict = self.verdict(row, CHANCE_OF_PAIRS);
        if smallest_chance_of_signs(logs.len()) > CHANCE_OF_PAIRS {
            row.why = Some(format!("{} pairs are too few for the test", logs.len()));
        }
    }

    fn verdict(&self, row: &ComparedProbe, most: f64) -> Verdict {
        let Some([low, high]) = row.interval else { return Verdict::CannotTell };
        let tested = row.chance.is_none_or(|chance| chance <= most);
        if tested && low > 1.0 {
            Verdict::Worse
        } else if tested && high < 1.0 {
            Verdict::Better
        } else if low >= 1.0 / (1.0 + self.options.margin) && high <= 1.0 + self.options.margin {
            Verdict::Same
        } else {
            Verdict::CannotTell
        }
    }
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

/// The median over epochs of how much a single pair varies.
fn pair_spread(result: &Measurement) -> Option<f64> {
    let spreads = result.epochs.iter().filter_map(|epoch| Some(epoch.paired?.spread));
    Some(median(&spreads.collect::<Vec<_>>())).filter(|spread| spread.is_finite())
}

impl Counted {
    fn words(self) -> &'static str {
        match self {
            Self::NotRepeatable => "not repeatable: the runs of one side differ by more than 2 %",
            Self::Scheduled => "depends on what else runs; compare 4 runs of each",
            Self::ByChance => "random events differ by as much; compare 4 runs of each",
        }
    }
}

fn all<'r>(pair: &Pair<'r>) -> impl Iterator<Item = &'r Measurement> {
    pair.a.iter().chain(&pair.b).map(|(_, result)| *result)
}

/// The values of the units that have one.
fn there(units: &Column) -> Vec<f64> {
    units.iter().copied().flatten().collect()
}

fn exactly(row: &mut ComparedProbe, a: f64, b: f64) {
    row.exact = true;
    row.verdict = match b.total_cmp(&a) {
        std::cmp::Ordering::Less => Verdict::Better,
        std::cmp::Ordering::Equal => Verdict::Same,
        std::cmp::Ordering::Greater => Verdict::Worse,
    };
    if a > 0.0 {
        row.ratio = Some(b / a);
        row.interval = Some([b / a, b / a]);
    }
    row.smallest_seen = Some(0.0);
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

fn estimate(result: &Measurement) -> Option<&Estimate> {
    result.ns.as_ref().or(result.cycles.as_ref())
}

/// From the intervals of the record, each widened to the level of a comparison. Sides of several runs are taken
/// by their first.
fn by_intervals(a: &[(usize, &Measurement)], b: &[(usize, &Measurement)]) -> Kind {
    let (Some((_, a)), Some((_, b))) = (a.first(), b.first()) else { return OTHER_UNITS };
    let Some((a, b)) = a.ns.zip(b.ns).or(a.cycles.zip(b.cycles)) else { return OTHER_UNITS };
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
