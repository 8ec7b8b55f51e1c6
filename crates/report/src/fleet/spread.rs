//! How far a host is from its like, and how sure that is.
//!
//! Sources: Rousseeuw and Croux 1993 (the spread), Smyth 2004 (what a probe has in common with the others of its class).

use crate::compare::Class;
use crate::compare::stats::{CHANCE, FUDGE, LEVEL, POWER, median};
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::collections::BTreeMap;

/// What the spread of the class weighs beside that of the probe itself, in degrees of freedom.
const OF_CLASS: f64 = 4.0;
/// Probes of a class from which its spread can be taken.
const ENOUGH: usize = 4;
/// The efficiency of the spread at the normal distribution: of so many values in a hundred a standard deviation is as sure.
const EFFICIENCY: f64 = 0.82;

/// A host whose own processes vary by so many times the usual variance is less sure; up to there it is the accident of few
/// processes.
const RESTLESS: f64 = 4.0;

/// How often hosts are judged again without those that differ.
const MOST_TIMES: usize = 5;

/// The figure of one host.
pub(super) struct Level {
    /// Its place in the group.
    pub(super) host: usize,
    /// The logarithm of the figure.
    pub(super) log: f64,
    /// Its standard error as the host's own processes show it.
    pub(super) own: f64,
}

/// The hosts of a group in one probe.
pub(super) struct Verdicts {
    /// Logarithm of the usual figure.
    pub(super) usual: f64,
    /// Standard deviation of a host.
    pub(super) spread: f64,
    pub(super) sees: f64,
    /// In the order of the levels.
    pub(super) each: Vec<Judged>,
}

pub(super) struct Judged {
    /// The logarithm of the ratio to the usual figure.
    pub(super) shift: f64,
    pub(super) interval: [f64; 2],
    pub(super) chance: f64,
    pub(super) differs: bool,
    /// In standard deviations.
    pub(super) distance: f64,
}

/// The spread that the probes of each group and class have in common.
pub(super) fn classes<'a>(
    probes: impl Iterator<Item = (usize, Class, bool, &'a [Level])>,
) -> BTreeMap<(usize, Class), f64> {
    let mut all: BTreeMap<(usize, Class), Vec<f64>> = BTreeMap::new();
    for (group, class, _, levels) in probes.filter(|(_, _, exact, _)| !exact) {
        let logs: Vec<f64> = levels.iter().map(|level| level.log).collect();
        all.entry((group, class)).or_default().push(qn(&logs));
    }
    all.retain(|_, spreads| spreads.len() >= ENOUGH);
    all.into_iter().map(|(key, spreads)| (key, median(&spreads))).collect()
}

/// Judges each host; `tested` is the number of figures in the whole fleet, for which every chance is corrected.
pub(super) fn judge(
    levels: &[Level],
    exact: bool,
    class: Class,
    of_class: Option<f64>,
    tested: usize,
) -> Verdicts {
    let logs: Vec<f64> = levels.iter().map(|level| level.log).collect();
    if exact {
        return exactly(&logs);
    }
    // Hosts that differ must not count as what hosts differ by: they are left out, and the others are judged again.
    let mut verdicts = judge_by(levels, &logs, class, of_class, tested);
    for _ in 0..MOST_TIMES {
        let named: Vec<bool> = verdicts.each.iter().map(|it| it.differs).collect();
        let alike: Vec<f64> =
            logs.iter().zip(&named).filter(|(_, named)| !**named).map(|(log, _)| *log).collect();
        if 2 * alike.len() <= logs.len() {
            break;
        }
        verdicts = judge_by(levels, &alike, class, of_class, tested);
        if verdicts.each.iter().map(|it| it.differs).eq(named) {
            break;
        }
    }
    verdicts
}

/// Judges each host by what these figures differ by.
fn judge_by(levels: &[Level], alike: &[f64], class: Class, of_class: Option<f64>, tested: usize) -> Verdicts {
    let n = alike.len() as f64;
    let usual = median(alike);
    let free = EFFICIENCY * (n - 1.0);
    let of_class = of_class.unwrap_or_else(|| class.floor());
    let spread = ((OF_CLASS * of_class.powi(2) + free * qn(alike).powi(2)) / (OF_CLASS + free)).sqrt();
    let usual_own = median(&levels.iter().map(|level| level.own.powi(2)).collect::<Vec<_>>());
    // The median of normal values has this variance more than their mean.
    let of_median = 1.0 + std::f64::consts::FRAC_PI_2 / n;
    let quantiles = StudentsT::new(0.0, 1.0, OF_CLASS + free).ok();
    let beyond = |share: f64| quantiles.map_or(f64::INFINITY, |it| it.inverse_cdf(1.0 - share / 2.0));
    let (wide, critical) = (beyond(1.0 - LEVEL), beyond(CHANCE / tested.max(1) as f64));
    let one = |level: &Level| {
        let more = (level.own.powi(2) - RESTLESS * usual_own).max(0.0);
        let deviation = ((spread.powi(2) + more) * of_median).sqrt() + FUDGE;
        let shift = level.log - usual;
        let distance = (shift / deviation).abs();
        let alone = quantiles.map_or(1.0, |it| 2.0 * it.sf(distance));
        Judged {
            shift,
            interval: [shift - wide * deviation, shift + wide * deviation],
            chance: (alone * tested as f64).min(1.0),
            differs: distance > critical,
            distance,
        }
    };
    let sees = ((critical + POWER) * (spread * of_median.sqrt() + FUDGE)).exp_m1();
    Verdicts { usual, spread, sees, each: levels.iter().map(one).collect() }
}

/// Figures of a simulator are equal, or they differ.
fn exactly(logs: &[f64]) -> Verdicts {
    let times = |log: f64| logs.iter().filter(|other| **other == log).count();
    let usual = logs.iter().copied().max_by_key(|log| times(*log)).unwrap_or(0.0);
    let one = |log: &f64| {
        let shift = log - usual;
        let (differs, distance) = (shift != 0.0, if shift == 0.0 { 0.0 } else { f64::MAX });
        Judged { shift, interval: [shift; 2], chance: f64::from(!differs), differs, distance }
    };
    Verdicts { usual, spread: 0.0, sees: 0.0, each: logs.iter().map(one).collect() }
}

/// The spread of values of which up to half may be anything (Rousseeuw and Croux 1993): the distance of two of them below
/// which a quarter of all distances is, made to agree with the standard deviation of normal values, also of few.
pub(super) fn qn(values: &[f64]) -> f64 {
    let n = values.len();
    if n < 2 {
        return 0.0;
    }
    let mut distances: Vec<f64> =
        (0..n).flat_map(|i| values[i + 1..].iter().map(move |other| (values[i] - other).abs())).collect();
    let half = n / 2 + 1;
    let quarter = half * (half - 1) / 2;
    let (_, distance, _) = distances.select_nth_unstable_by(quarter - 1, f64::total_cmp);
    // Croux and Rousseeuw 1992, for n from 2 to 9.
    const FEW: [f64; 8] = [0.399, 0.994, 0.512, 0.844, 0.611, 0.857, 0.669, 0.872];
    let size = n as f64;
    let of_few = match FEW.get(n - 2) {
        Some(factor) => *factor,
        None if n % 2 == 1 => size / (size + 1.4),
        None => size / (size + 3.8),
    };
    2.2219 * of_few * *distance
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(logs: &[f64]) -> Vec<Level> {
        logs.iter().enumerate().map(|(host, log)| Level { host, log: *log, own: 0.001 }).collect()
    }

    #[test]
    fn the_spread_is_the_distance_of_the_definition() {
        // Ten values 0, 1, ... 9: half = 6, the 15th of 45 distances; nine are 1 and eight are 2, so it is 2.
        let values: Vec<f64> = (0..10).map(f64::from).collect();
        assert!((qn(&values) - 2.2219 * 2.0 * 10.0 / 13.8).abs() < 1e-12);
        // Three values: half = 2, the smallest of three distances.
        assert!((qn(&[1.0, 5.0, 1.5]) - 2.2219 * 0.994 * 0.5).abs() < 1e-12);
        let mut spoiled = values.clone();
        spoiled[9] = 1e9;
        assert!(qn(&spoiled) < 2.0 * qn(&values), "one value may be anything");
    }

    #[test]
    fn exact_figures_differ_or_not() {
        let judged = judge(&levels(&[1.0, 1.0, 1.0 + 1e-9, 1.0]), true, Class::Alone, None, 1);
        let differs: Vec<bool> = judged.each.iter().map(|it| it.differs).collect();
        assert_eq!((differs, judged.usual), (vec![false, false, true, false], 1.0));
    }

    #[test]
    fn a_host_that_is_unsure_itself_is_not_named() {
        let mut all = levels(&[0.0, 0.002, -0.002, 0.001, -0.001, 0.003, -0.003, 0.06]);
        let named = |all: &[Level]| judge(all, false, Class::Alone, Some(0.002), 80).each[7].differs;
        assert!(named(&all));
        all[7].own = 0.03;
        assert!(!named(&all));
    }

    #[test]
    fn more_figures_need_a_larger_distance() {
        let all = levels(&[0.0, 0.002, -0.002, 0.001, -0.001, 0.003, -0.003, 0.02]);
        // Of the same spread: `judge` may leave the last host out of it, or not, by the number of figures.
        let logs: Vec<f64> = all[..7].iter().map(|level| level.log).collect();
        let chance = |tested| judge_by(&all, &logs, Class::Alone, Some(0.002), tested).each[7].chance;
        assert!(chance(100) < 1.0, "{}", chance(100));
        assert!((chance(100) / chance(10) - 10.0).abs() < 1e-9);
    }
}
