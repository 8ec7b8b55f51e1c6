//! The distance of a host from similar ones, and its chance.
//!
//! Sources: Rousseeuw and Croux 1993 (the spread), Smyth 2004 (what a probe has in common with the others of its class),
//! Benjamini and Hochberg 1995 and Benjamini and Yekutieli 2001 (how many of the differences are false).

use crate::compare::Class;
use crate::stats::{CHANCE, FUDGE, LEVEL, POWER, median};
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::collections::BTreeMap;

/// The weight of the class's spread beside that of the probe itself, in degrees of freedom.
const OF_CLASS: f64 = 4.0;
/// Probes of a class from which its spread can be taken.
const ENOUGH: usize = 4;
/// The efficiency of the spread at the normal distribution: of so many values in a hundred a standard deviation is as sure.
const EFFICIENCY: f64 = 0.82;

/// A host whose own processes vary by so many times the usual variance is less sure; up to there it is the accident of few
/// processes.
const RESTLESS: f64 = 4.0;

/// The largest share of false ones that is expected among the differences, if there are at least five.
pub(super) const FALSE: f64 = 0.01;

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
    /// That of the distance between a host and the usual figure, and its degrees of freedom.
    deviation: f64,
    free: f64,
    /// The smallest difference that would have been found 4 times in 5, as a share.
    pub(super) sees: f64,
    /// In the order of the levels.
    pub(super) each: Vec<Judged>,
}

impl Verdicts {
    fn named(&self) -> Vec<bool> {
        self.each.iter().map(|it| it.differs).collect()
    }

    /// The smallest difference that is found 4 times in 5 if chances up to `limit` are differences.
    fn sees_at(&self, limit: f64) -> f64 {
        let critical =
            StudentsT::new(0.0, 1.0, self.free).map_or(f64::INFINITY, |it| it.inverse_cdf(1.0 - limit / 2.0));
        ((critical + POWER) * self.deviation).exp_m1()
    }
}

pub(super) struct Judged {
    /// The logarithm of the ratio to the usual figure.
    pub(super) shift: f64,
    pub(super) interval: [f64; 2],
    /// Corrected for the number of figures.
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

/// The hosts of a group in one probe, before they are judged.
pub(super) struct Probe<'a> {
    pub(super) levels: &'a [Level],
    /// Whether the figures are a simulator's.
    pub(super) exact: bool,
    pub(super) class: Class,
    /// The spread of the probes of its class.
    pub(super) of_class: Option<f64>,
}

/// Judges every figure of a fleet.
pub(super) fn judge(probes: &[Probe<'_>]) -> Vec<Verdicts> {
    // Hosts that differ must not count as what hosts differ by: they are left out, and all are judged again.
    let mut alike: Vec<Vec<f64>> = probes.iter().map(|it| logs(it.levels)).collect();
    let mut verdicts = judge_by(probes, &alike);
    for _ in 0..MOST_TIMES {
        let named: Vec<Vec<bool>> = verdicts.iter().map(Verdicts::named).collect();
        for ((alike, probe), named) in alike.iter_mut().zip(probes).zip(&named) {
            let others = probe.levels.iter().zip(named).filter(|(_, named)| !**named);
            let others: Vec<f64> = others.map(|(level, _)| level.log).collect();
            if 2 * others.len() > probe.levels.len() {
                *alike = others;
            }
        }
        verdicts = judge_by(probes, &alike);
        if verdicts.iter().map(Verdicts::named).eq(named) {
            break;
        }
    }
    verdicts
}

fn logs(levels: &[Level]) -> Vec<f64> {
    levels.iter().map(|level| level.log).collect()
}

/// Judges every figure by the usual difference of the hosts of `alike`.
fn judge_by(probes: &[Probe<'_>], alike: &[Vec<f64>]) -> Vec<Verdicts> {
    let judge = |(probe, alike): (&Probe<'_>, &Vec<f64>)| match probe.exact {
        true => exactly(&logs(probe.levels)),
        false => distances(probe, alike),
    };
    let mut verdicts: Vec<Verdicts> = probes.iter().zip(alike).map(judge).collect();
    let uncertain = || probes.iter().enumerate().filter(|(_, probe)| !probe.exact).map(|(place, _)| place);
    let chances: Vec<f64> =
        uncertain().flat_map(|place| verdicts[place].each.iter().map(|it| it.chance)).collect();
    let (limit, mut corrected) = corrected(&chances);
    for place in uncertain() {
        let verdict = &mut verdicts[place];
        verdict.sees = verdict.sees_at(limit);
        for (it, corrected) in verdict.each.iter_mut().zip(corrected.drain(..probes[place].levels.len())) {
            it.differs = it.chance <= limit;
            it.chance = corrected;
        }
    }
    verdicts
}

/// The largest chance that is still a difference among these, and each one corrected.
///
/// Benjamini and Hochberg 1995: of the differences at most [`FALSE`] are expected to be none. With fewer than five of them
/// that would say less than Bonferroni does, so [`CHANCE`] divided by the number of all is small in any case. A corrected
/// chance is the share of false ones to expect among the figures that are at least as far away.
fn corrected(chances: &[f64]) -> (f64, Vec<f64>) {
    let all = chances.len() as f64;
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    let mut corrected = vec![1.0; chances.len()];
    let (mut least, mut limit) = (1.0_f64, CHANCE / all.max(1.0));
    for (before, place) in order.iter().enumerate().rev() {
        least = least.min(chances[*place] * all / (before + 1) as f64);
        corrected[*place] = least;
        if least <= FALSE {
            limit = limit.max((before + 1) as f64 * FALSE / all);
        }
    }
    (limit, corrected)
}

/// How far each host is from the usual level, and the chance of that.
fn distances(probe: &Probe<'_>, alike: &[f64]) -> Verdicts {
    let n = alike.len() as f64;
    let usual = median(alike);
    let free = EFFICIENCY * (n - 1.0);
    let of_class = probe.of_class.unwrap_or_else(|| probe.class.floor());
    let spread = ((OF_CLASS * of_class.powi(2) + free * qn(alike).powi(2)) / (OF_CLASS + free)).sqrt();
    let usual_own = median(&probe.levels.iter().map(|level| level.own.powi(2)).collect::<Vec<_>>());
    // The median of normal values has this variance more than their mean.
    let of_median = 1.0 + std::f64::consts::FRAC_PI_2 / n;
    let quantiles = StudentsT::new(0.0, 1.0, OF_CLASS + free).ok();
    let wide = quantiles.map_or(f64::INFINITY, |it| it.inverse_cdf(1.0 - (1.0 - LEVEL) / 2.0));
    let one = |level: &Level| {
        let more = (level.own.powi(2) - RESTLESS * usual_own).max(0.0);
        let deviation = ((spread.powi(2) + more) * of_median + FUDGE.powi(2)).sqrt();
        let shift = level.log - usual;
        let distance = (shift / deviation).abs();
        Judged {
            shift,
            interval: [shift - wide * deviation, shift + wide * deviation],
            chance: quantiles.map_or(1.0, |it| 2.0 * it.sf(distance)),
            differs: false,
            distance,
        }
    };
    let each = probe.levels.iter().map(one).collect();
    let deviation = (spread.powi(2) * of_median + FUDGE.powi(2)).sqrt();
    Verdicts { usual, spread, deviation, free: OF_CLASS + free, sees: f64::NAN, each }
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
    Verdicts {
        usual,
        spread: 0.0,
        deviation: 0.0,
        free: 0.0,
        sees: 0.0,
        each: logs.iter().map(one).collect(),
    }
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

    /// The verdicts of one probe whose class has this spread.
    fn judged(levels: &[Level], of_class: f64) -> Verdicts {
        let probe = Probe { levels, exact: false, class: Class::Alone, of_class: Some(of_class) };
        judge(&[probe]).remove(0)
    }

    #[test]
    fn exact_figures_differ_or_not() {
        let levels = levels(&[1.0, 1.0, 1.0 + 1e-9, 1.0]);
        let probe = Probe { levels: &levels, exact: true, class: Class::Alone, of_class: None };
        let judged = judge(&[probe]).remove(0);
        assert_eq!((judged.named(), judged.usual), (vec![false, false, true, false], 1.0));
    }

    #[test]
    fn a_host_that_is_unsure_itself_is_not_named() {
        let mut all = levels(&[0.0, 0.002, -0.002, 0.001, -0.001, 0.003, -0.003, 0.06]);
        assert!(judged(&all, 0.002).each[7].differs);
        all[7].own = 0.03;
        assert!(!judged(&all, 0.002).each[7].differs);
    }

    /// Benjamini and Hochberg 1995, section 3.3: fifteen chances of which the four smallest are differences at a rate of
    /// 5 %, and three by Bonferroni's rule. Here a fifth of each chance for a rate of 1 %.
    const PUBLISHED: [f64; 15] = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
        0.6528, 0.7590, 1.0,
    ];

    #[test]
    fn the_correction_is_that_of_the_published_example() {
        let fifth: Vec<f64> = PUBLISHED.iter().map(|chance| chance / 5.0).collect();
        let (limit, corrected) = corrected(&fifth);
        // The fourth and largest one, 0.0095, is below 4 / 15 of 5 %; the fifth, 0.0201, is above 5 / 15 of it.
        assert_eq!(corrected.iter().filter(|it| **it <= FALSE).count(), 4);
        // Fewer than five: Bonferroni's limit at 5 % is larger than 4 / 15 of 1 %.
        assert!((limit - 0.05 / 15.0).abs() < 1e-15);
        // A chance is corrected to the least of those with a larger one: 0.0298 * 15 / 7 is less than 0.0278 * 15 / 6.
        assert!((corrected[5] - 0.0298 / 5.0 * 15.0 / 7.0).abs() < 1e-15);
    }

    #[test]
    fn many_differences_permit_a_larger_chance_and_few_do_not() {
        let chances = |small: usize, chance: f64| [vec![chance; small], vec![1.0; 1_000 - small]].concat();
        // 40 of 1,000 may have a chance of 40 / 1,000 of 1 %.
        let (limit, corrected) = corrected(&chances(40, 3.9e-4));
        assert!((limit - 4e-4).abs() < 1e-15 && (corrected[0] - 0.00975).abs() < 1e-12);
        assert!(super::corrected(&chances(40, 4.1e-4)).0 < 4.1e-4);
        // A single one, what Bonferroni's rule permits: 5 % of 1 / 1,000.
        assert!((super::corrected(&chances(1, 4.9e-5)).0 - 5e-5).abs() < 1e-15);
        assert_eq!(super::corrected(&[]), (0.05, Vec::new()));
    }
}
