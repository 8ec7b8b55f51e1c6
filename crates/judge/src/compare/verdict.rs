//! From drafts to rows: interval, test, verdict.

use super::draft::{Doubt, Draft, Judge, Kind, Sampled, estimate, there};
use super::facts;
use super::pairs::{Pair, instructions};
use super::result::{Adjustment, ComparedProbe, Verdict};
use super::spread::{
    CAP, Class, ENOUGH_CONTROLS, between_runs, is_control, is_control_across, machine_wide, most_moved,
};
use crate::sequence::{LEAST_OF_PAIRS, confidence_sequence};
use crate::stats::{
    CHANCE, Column, FUDGE, LEVEL, POWER, Shift, Signs, Z, center_of_pairs, chance_of, chances, cliff, few,
    median, quantile_of, short_of_level, signs, smallest_chance, smallest_chance_of_signs,
};
use tollgate_record::Measurement;
use tollgate_record::number::percent;

/// With this many runs on either side, runs are the units of the test instead of processes: then what differs from
/// run to run shows by itself.
pub(super) const ENOUGH_RUNS: usize = 4;
/// The same as [`CHANCE`] for pairs: one comparison of equal programs in five hundred names a probe.
const CHANCE_OF_PAIRS: f64 = 0.002;
/// A figure that is adjusted by less, as a logarithm, is printed as it was measured.
const NOT_ADJUSTED: f64 = 5e-4;

/// The movement of the machine, B over A.
pub(super) struct Moved {
    /// The ratio of the probes that never enter the kernel, if the machine itself moved.
    pub(super) ratio: Option<f64>,
    /// The ratio of the entry to the same kernel.
    pub(super) entry: Option<f64>,
}

/// The evidence that all drafts give for one of them.
struct Evidence {
    /// The corrected chance of the test of processes or runs.
    chance: Option<f64>,
    /// The same of pairs.
    signs: Option<Signs>,
    /// The usual difference between two runs, as a standard deviation.
    between: f64,
    /// How many rows are tested.
    tested: usize,
}

/// Significant movements of fixed work, in logarithms.
#[derive(Default)]
struct Fixed {
    /// That of a yardstick in which the kernel takes no part.
    user: Option<f64>,
    /// The way into the kernel and back, the kernel being the same.
    entry: Option<f64>,
    /// The change of communication between two CPUs without the kernel.
    across: Option<f64>,
}

impl Judge<'_> {
    pub(super) fn rows(&self, pairs: &[Pair<'_>]) -> (Vec<ComparedProbe>, Moved) {
        let drafts: Vec<Draft> = pairs.iter().map(|pair| self.draft(pair)).collect();
        let chances = self.chances(&drafts);
        let controls: Vec<Shift> = self.controls(&drafts, pairs);
        let machine = machine_wide(&controls);
        let moved =
            machine.map(|_| median(&controls.iter().map(|shift| shift.estimate).collect::<Vec<f64>>()).exp());
        let of_class = Class::ALL.map(|class| self.between(class, &drafts, pairs, machine));
        let fixed = self.fixed(&drafts, pairs);
        let signs = Self::signs(&drafts);
        let tested = drafts.iter().filter(|draft| draft.shift().is_some()).count();
        let between: Vec<f64> = drafts
            .iter()
            .zip(pairs)
            .map(|(draft, pair)| {
                // A row that no yardstick explains may have moved as far as the yardstick of its kind of work.
                let moved = match draft.class {
                    Class::Across => [fixed.across, None],
                    _ if draft.is_explained() => [None; 2],
                    _ => [fixed.user, fixed.entry.filter(|_| !is_control(pair.a[0].1))],
                };
                moved.into_iter().flatten().map(f64::abs).fold(of_class[draft.class as usize], f64::max)
            })
            .collect();
        let row = |((((pair, draft), chance), signs), between)| {
            self.row(pair, draft, Evidence { chance, signs, between, tested })
        };
        let rows = pairs.iter().zip(drafts).zip(chances).zip(signs).zip(between);
        (rows.map(row).collect(), Moved { ratio: moved, entry: fixed.entry.map(f64::exp) })
    }

    /// The movements of work that no change can move.
    fn fixed(&self, drafts: &[Draft], pairs: &[Pair<'_>]) -> Fixed {
        if self.interleaved || !self.at_one_frequency {
            return Fixed::default();
        }
        let across = drafts.iter().zip(pairs).filter(|(_, pair)| is_control_across(pair.a[0].1));
        let across: Vec<Shift> = across.filter_map(|(draft, _)| draft.shift()).collect();
        Fixed {
            // Single runs do not show differences between runs: there only a large movement counts.
            user: most_moved(&self.machine.moved(false, self.by_runs), if self.by_runs { 0.0 } else { CAP }),
            // If the machine is slow in all processes of a run, no yardstick explains a row: every significant movement
            // counts.
            entry: most_moved(&self.machine.moved(true, self.by_runs), 0.0),
            // Communication between CPUs varies so much that every significant movement counts.
            across: most_moved(&across, 0.0),
        }
    }

    /// The shifts of probes that never enter the kernel, where nothing but the machine can have moved them: in runs
    /// of one host one after the other, adjusted for differences of the core's frequency.
    fn controls(&self, drafts: &[Draft], pairs: &[Pair<'_>]) -> Vec<Shift> {
        if self.interleaved || self.by_runs || !self.at_one_frequency {
            return Vec::new();
        }
        let controls = drafts.iter().zip(pairs).filter(|(_, pair)| is_control(pair.a[0].1));
        let mut controls: Vec<Shift> = controls.filter_map(|(draft, _)| draft.shift()).collect();
        if controls.len() < ENOUGH_CONTROLS {
            controls.extend(self.machine.moved(false, false));
        }
        controls
    }

    /// The result of the test of pairs for each draft that has them.
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

    /// One corrected chance for each draft that can be tested.
    fn chances(&self, drafts: &[Draft]) -> Vec<Option<f64>> {
        let units = |draft: &Draft| match &draft.kind {
            Kind::Sampled(sampled) => Some(sampled.units.clone()),
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

    /// The usual difference between runs in a class.
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

    fn row(&self, pair: &Pair<'_>, draft: Draft, evidence: Evidence) -> ComparedProbe {
        let mut row = self.empty(pair, &draft);
        match draft.kind {
            Kind::None(why) => row.why = Some(why.into()),
            Kind::Exact([a, b]) => exactly(&mut row, a, b),
            Kind::Counted([a, b], doubt) => {
                exactly(&mut row, a, b);
                row.why = doubt.map(|doubt| doubt.words().into());
                let is_same = (b / a.max(1.0) - 1.0).abs() <= self.margin;
                row.verdict = match doubt {
                    Some(Doubt::ByChance) if is_same => Verdict::Same,
                    Some(_) => Verdict::CannotTell,
                    None => row.verdict,
                };
            }
            Kind::Paired(logs) => {
                if let Some(signs) = evidence.signs {
                    self.put_paired(&mut row, &logs, signs);
                }
                row.pair_spread = pair.b.first().and_then(|(_, result)| pair_spread(result));
            }
            Kind::Intervals(shift) => {
                put(&mut row, shift, 1.0, evidence.between);
                self.decide(&mut row, CHANCE);
                row.why =
                    Some("the records keep no processes, so that only intervals can be held together".into());
            }
            Kind::Sampled(sampled) => self.put_sampled(&mut row, pair, sampled, &evidence),
        }
        if let Some(ratio) = row.ratio.filter(|_| !row.exact) {
            let adjusted = (row.a * ratio / row.b_measured).ln().abs();
            // The logarithm and its inverse leave another last digit.
            row.b = if adjusted < 1e-9 { row.b_measured } else { row.a * ratio };
            if adjusted < NOT_ADJUSTED {
                row.adjusted.retain(|it| *it == Adjustment::Yardsticks);
            }
        } else {
            row.adjusted.clear();
        }
        if let Some(why) = facts::spoiler(pair, self.sides).filter(|_| !row.exact) {
            row.spoiled = true;
            row.verdict = Verdict::CannotTell;
            row.why = Some(why);
        }
        row
    }

    /// The row before anything is known but its figures.
    fn empty(&self, pair: &Pair<'_>, draft: &Draft) -> ComparedProbe {
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
        let by_process = matches!(draft.kind, Kind::Sampled(_)) && pair.part.is_none() && unit == "ns";
        let is_sampled = matches!(draft.kind, Kind::Sampled(_));
        let figures = |side: &[(usize, &Measurement)]| {
            let of_runs: Vec<f64> = side.iter().filter_map(|(_, it)| figure(it)).collect();
            match () {
                () if by_process => median(&there(&self.units(side, false))).exp(),
                // The middle between two is that of their logarithms, which are compared.
                () if is_sampled && of_runs.len().is_multiple_of(2) => {
                    median(&of_runs.iter().map(|it| it.ln()).collect::<Vec<_>>()).exp()
                }
                () => median(&of_runs),
            }
        };
        let (a, b) = (figures(&pair.a), figures(&pair.b));
        let adjusted = match &draft.kind {
            Kind::Paired(_) => vec![Adjustment::Pairs],
            Kind::Sampled(it) if it.explained.is_some() => {
                vec![Adjustment::Frequency, Adjustment::Yardsticks]
            }
            Kind::Sampled(_) if draft.at_one_frequency => vec![Adjustment::Frequency],
            _ => Vec::new(),
        };
        ComparedProbe {
            probe: pair.probe.into(),
            engine: pair.engine.into(),
            part: pair.part.map(|part| part.name.into()),
            params: pair.params.clone(),
            per: pair.per_a,
            unit,
            a,
            b,
            b_measured: b,
            adjusted,
            ratio: None,
            interval: None,
            at_one_frequency: draft.at_one_frequency,
            exact: false,
            chance: None,
            effect: None,
            units: [0, 0],
            smallest_seen: None,
            pair_spread: None,
            relative: None,
            spoiled: false,
            verdict: Verdict::CannotTell,
            why: pair.other_params.clone(),
            other_way: None,
            parts: Vec::new(),
            counters: Vec::new(),
        }
    }

    fn put_sampled(&self, row: &mut ComparedProbe, pair: &Pair<'_>, sampled: Sampled, evidence: &Evidence) {
        let Sampled { units, shift, explained } = sampled;
        let [a, b] = units.each_ref().map(there);
        row.relative = explained;
        row.chance = evidence.chance;
        row.units = [a.len(), b.len()];
        row.effect = Some(cliff(&a, &b));
        row.ratio = Some(shift.estimate.exp());
        if smallest_chance(a.len(), b.len()) > CHANCE {
            let Some((shift, freedom)) = few(&a, &b) else {
                let units = if self.by_runs || pair.part.is_some() { "runs" } else { "processes" };
                row.chance = None;
                row.why = Some(format!("{} and {} {units} are too few for an interval", a.len(), b.len()));
                return;
            };
            put(row, shift, 1.0, evidence.between.max(FUDGE));
            // No deal of so few is rare: the chance is Student's, corrected by the number of rows (Bonferroni).
            let half = row.smallest_seen.map_or(f64::INFINITY, |seen| seen.ln_1p() / (1.0 + POWER / Z));
            let error = half / quantile_of(freedom);
            row.chance = Some((evidence.tested as f64 * chance_of(shift.estimate / error, freedom)).min(1.0));
            return self.decide(row, CHANCE);
        }
        put(row, shift, short_of_level(a.len(), b.len()), evidence.between.max(FUDGE));
        self.decide(row, CHANCE);
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
            return self.decide(row, 1.0);
        }
        let least = smallest_chance_of_signs(logs.len());
        if least > 1.0 - LEVEL {
            row.why = Some(format!("{} pairs are too few for an interval", logs.len()));
            return;
        }
        row.chance = Some(signs.chance);
        row.interval = Some([(center.low - LEAST_OF_PAIRS).exp(), (center.high + LEAST_OF_PAIRS).exp()]);
        let [low, high] = signs.all;
        let half = (high - center.estimate).max(center.estimate - low) + LEAST_OF_PAIRS;
        row.smallest_seen = Some((half + POWER * deviation).exp_m1());
        if least > CHANCE_OF_PAIRS {
            row.why = Some(format!("{} pairs are too few for the test", logs.len()));
        }
        self.decide(row, CHANCE_OF_PAIRS);
    }

    /// The verdict that interval and test give; if they give none, why.
    fn decide(&self, row: &mut ComparedProbe, most: f64) {
        let Some([low, high]) = row.interval else { return };
        let tested = row.chance.is_none_or(|chance| chance <= most);
        let why = match () {
            () if low > 1.0 && tested => return row.verdict = Verdict::Worse,
            () if high < 1.0 && tested => return row.verdict = Verdict::Better,
            () if low > 1.0 || high < 1.0 => "among so many probes one differs as far by chance".to_owned(),
            () if low >= 1.0 / (1.0 + self.margin) && high <= 1.0 + self.margin => {
                return row.verdict = Verdict::Same;
            }
            () => format!("its interval contains no change and one beyond {}", percent(self.margin)),
        };
        row.why.get_or_insert(why);
    }
}

/// Ratio and interval from a shift of logarithms: `times` as far on both sides, and widened by the usual difference between
/// runs.
fn put(row: &mut ComparedProbe, shift: Shift, times: f64, between: f64) {
    let wider = |half: f64| (half.max(0.0) * times).hypot(Z * between);
    let (below, above) = (wider(shift.estimate - shift.low), wider(shift.high - shift.estimate));
    row.ratio = Some(shift.estimate.exp());
    row.interval = Some([(shift.estimate - below).exp(), (shift.estimate + above).exp()]);
    let half = below.max(above);
    row.smallest_seen = Some((half * (1.0 + POWER / Z)).exp_m1());
}

/// The median over epochs of how much a single pair varies.
fn pair_spread(result: &Measurement) -> Option<f64> {
    let spreads = result.epochs.iter().filter_map(|epoch| Some(epoch.paired?.spread));
    Some(median(&spreads.collect::<Vec<_>>())).filter(|spread| spread.is_finite())
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
