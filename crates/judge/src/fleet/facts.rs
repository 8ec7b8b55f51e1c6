//! Facts that only the hosts that differ in a probe share.

use crate::compare::facts_of;
use crate::stats::{CHANCE, median};
use serde::Serialize;
use statrs::distribution::{DiscreteCDF, Hypergeometric};
use std::collections::{BTreeMap, BTreeSet};
use tollgate_record::Run;

/// A measured fact (a frequency, the time of a yardstick) is usual within this share of the median.
const USUAL: f64 = 0.02;
/// Facts of one probe that are kept.
const MOST: usize = 5;

/// A fact that the hosts that differ share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SharedFact {
    /// The name of the fact: `microcode`, `governor`, `core frequency`.
    pub what: String,
    /// Their value.
    pub value: String,
    /// The value that most of the others have.
    pub usual: String,
    /// How many of the hosts that differ have it.
    pub differing: usize,
    /// How many of the others have it.
    pub others: usize,
    /// How many others there are.
    pub of_others: usize,
    /// The chance of that if the fact had nothing to do with it (Fisher's exact test), corrected for the number of facts.
    pub chance: f64,
    /// Whether that chance is small. For a single host it never is.
    pub sure: bool,
}

/// The facts in a host's records, by name.
pub(super) type Facts = BTreeMap<String, String>;

/// The facts of each host of a group.
pub(super) fn of_hosts(hosts: &[&[&Run]]) -> Vec<Facts> {
    with_measured(hosts.iter().map(|runs| facts_of(runs)).collect(), hosts)
}

/// The facts that the differing hosts share, of all hosts of a group.
pub(super) fn shared(hosts: &[Facts], differing: &[usize]) -> Vec<SharedFact> {
    let names: BTreeSet<&String> = hosts.iter().flat_map(BTreeMap::keys).collect();
    let none = "none".to_owned();
    let mut found = Vec::new();
    let mut tested = 0_usize;
    for name in names {
        let mut values: BTreeMap<&String, [usize; 2]> = BTreeMap::new();
        for (host, facts) in hosts.iter().enumerate() {
            let counts = values.entry(facts.get(name).unwrap_or(&none)).or_default();
            counts[usize::from(!differing.contains(&host))] += 1;
        }
        if values.len() < 2 {
            continue;
        }
        tested += values.len();
        let usual = values.iter().max_by_key(|(_, counts)| counts[1]).map_or(&none, |(value, _)| *value);
        for (value, [inside, outside]) in &values {
            if *value == usual {
                continue;
            }
            let of_others = hosts.len() - differing.len();
            let chance = chance(hosts.len(), inside + outside, differing.len(), *inside);
            let is_more = inside * of_others > outside * differing.len();
            // A value that less than half of the hosts have explains little.
            if is_more && 2 * inside >= differing.len() {
                found.push(SharedFact {
                    what: name.clone(),
                    value: (*value).clone(),
                    usual: usual.clone(),
                    differing: *inside,
                    others: *outside,
                    of_others,
                    chance,
                    sure: false,
                });
            }
        }
    }
    for fact in &mut found {
        fact.chance = (fact.chance * tested as f64).min(1.0);
        fact.sure = fact.chance <= CHANCE;
    }
    found.sort_by(|a, b| a.chance.total_cmp(&b.chance).then(a.others.cmp(&b.others)));
    found.truncate(MOST);
    found
}

/// Fisher's exact test, one-sided: the chance that at least the observed number of `drawn` hosts has a value that `having`
/// of `all` have.
fn chance(all: usize, having: usize, drawn: usize, found: usize) -> f64 {
    let [all, having, drawn] = [all, having, drawn].map(|it| it as u64);
    match (Hypergeometric::new(all, having, drawn), found.checked_sub(1)) {
        (Ok(chances), Some(below)) => chances.sf(below as u64),
        _ => 1.0,
    }
}

/// The measured facts of the host itself, in words: its frequency and its yardsticks.
fn with_measured(mut facts: Vec<Facts>, hosts: &[&[&Run]]) -> Vec<Facts> {
    let measured: Vec<BTreeMap<String, f64>> = hosts.iter().map(|runs| measured(runs)).collect();
    let names: BTreeSet<&String> = measured.iter().flat_map(BTreeMap::keys).collect();
    for name in names {
        let all: Vec<f64> = measured.iter().filter_map(|host| host.get(name).copied()).collect();
        let usual = median(&all);
        for (facts, measured) in facts.iter_mut().zip(&measured) {
            let words = match measured.get(name).map(|value| value / usual) {
                None => "unknown",
                Some(ratio) if ratio > 1.0 + USUAL => "above the usual",
                Some(ratio) if ratio < 1.0 - USUAL => "below the usual",
                Some(_) => "usual",
            };
            facts.insert(name.clone(), words.to_owned());
        }
    }
    facts
}

fn measured(runs: &[&Run]) -> BTreeMap<String, f64> {
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for run in runs {
        let longest = run.results.iter().max_by_key(|result| result.epochs.len());
        let hz = longest.iter().flat_map(|it| &it.epochs).filter_map(|epoch| epoch.core_hz);
        all.entry("core frequency".into()).or_default().extend(hz);
        for work in &run.yardsticks {
            let name = format!("time of the {} yardstick", work.name);
            all.entry(name).or_default().extend(work.epochs.iter().copied().flatten());
        }
    }
    all.retain(|_, values| !values.is_empty());
    all.into_iter().map(|(name, values)| (name, median(&values))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chance_is_that_of_fishers_tea() {
        // Of eight cups four had the milk first, and all four of those chosen: one of 70 ways. Three of four: 17 of 70.
        assert!((chance(8, 4, 4, 4) - 1.0 / 70.0).abs() < 1e-12);
        assert!((chance(8, 4, 4, 3) - 17.0 / 70.0).abs() < 1e-12);
        assert_eq!(chance(8, 4, 4, 0), 1.0);
    }
}
