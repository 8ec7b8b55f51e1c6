//! What carries a difference: phases, causes and counts.

use super::pairs::Pair;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tollgate_record::{Estimate, Measurement, Phase};

/// A phase on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// Its name; a cause follows its phase: `save: i-miss`.
    pub name: String,
    /// Unit of the figures.
    pub unit: &'static str,
    /// A's figure; zero where A has no such phase.
    pub a: f64,
    /// B's figure, at A's core frequency where the row is compared so.
    pub b: f64,
    /// B less A.
    pub delta: f64,
    /// Its interval; absent for counts of a simulator, which have none.
    pub interval: Option<[f64; 2]>,
    /// Of the difference of the totals; absent where these do not differ.
    pub share: Option<f64>,
}

/// A count on both sides, per crossing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Counter {
    /// Its name.
    pub name: String,
    /// A's count.
    pub a: Option<f64>,
    /// B's count.
    pub b: Option<f64>,
}

/// The phases that either side has, largest difference first. `scale` brings B's nanoseconds to A's frequency.
pub(super) fn parts(pair: &Pair<'_>, scale: f64, exact: bool) -> Vec<Part> {
    // The last run of a side stands for it: phases of several runs are not pooled.
    let (Some((_, a)), Some((_, b))) = (pair.a.last(), pair.b.last()) else { return Vec::new() };
    let total = |result: &Measurement| result.ns.or(result.cycles).map(|it| it.estimate);
    let whole = total(a).zip(total(b)).map(|(a, b)| b * scale - a).filter(|it| *it != 0.0);
    let mut parts: Vec<Part> = names(a, b)
        .into_iter()
        .filter_map(|name| part(name, find(a, name), find(b, name), scale, exact))
        .collect();
    if exact {
        parts.extend(names(a, b).into_iter().flat_map(|name| causes(name, find(a, name), find(b, name))));
    }
    for part in &mut parts {
        part.share = whole.map(|whole| part.delta / whole).filter(|share| share.is_finite());
    }
    parts.sort_by(|x, y| y.delta.abs().total_cmp(&x.delta.abs()));
    parts
}

fn names<'r>(a: &'r Measurement, b: &'r Measurement) -> Vec<&'r str> {
    let mut names: Vec<&str> = Vec::new();
    for phase in a.phases.iter().chain(&b.phases) {
        if !names.contains(&phase.name.as_str()) {
            names.push(&phase.name);
        }
    }
    names
}

fn find<'r>(result: &'r Measurement, name: &str) -> Option<&'r Phase> {
    result.phases.iter().find(|phase| phase.name == name)
}

fn part(name: &str, a: Option<&Phase>, b: Option<&Phase>, scale: f64, exact: bool) -> Option<Part> {
    let nanos = |phase: Option<&Phase>| phase.and_then(|phase| phase.ns);
    let cycles = |phase: Option<&Phase>| phase.and_then(|phase| phase.cycles);
    let (unit, a, b) = match (nanos(a), nanos(b), cycles(a), cycles(b)) {
        (None, None, None, None) => return None,
        (None, None, a, b) => ("cycles", a, b),
        (a, b, ..) => ("ns", a, b.map(|it| it.scaled(scale))),
    };
    let [a, b] = [a, b].map(|it| it.unwrap_or(Estimate::point(0.0)));
    let delta = b.minus(&a);
    Some(Part {
        name: name.into(),
        unit,
        a: a.estimate,
        b: b.estimate,
        delta: delta.estimate,
        interval: (!exact).then_some(delta.ci),
        share: None,
    })
}

fn causes(name: &str, a: Option<&Phase>, b: Option<&Phase>) -> Vec<Part> {
    static NONE: BTreeMap<String, f64> = BTreeMap::new();
    let of = |phase: Option<&Phase>| phase.map_or(NONE.clone(), |phase| phase.causes.clone());
    let (a, b) = (of(a), of(b));
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    keys.into_iter()
        .map(|key| {
            let value = |side: &BTreeMap<String, f64>| side.get(key).copied().unwrap_or(0.0);
            let (a, b) = (value(&a), value(&b));
            let name = format!("{name}: {key}");
            Part { name, unit: "cycles", a, b, delta: b - a, interval: None, share: None }
        })
        .filter(|part| part.delta != 0.0)
        .collect()
}

/// Counts that differ by a hundredth or more, or that only one side has.
pub(super) fn counters(pair: &Pair<'_>) -> Vec<Counter> {
    let (Some((_, a)), Some((_, b))) = (pair.a.last(), pair.b.last()) else { return Vec::new() };
    let of = |result: &Measurement| -> BTreeMap<String, f64> {
        result.counters.iter().chain(&result.proof).map(|(key, value)| (key.clone(), *value)).collect()
    };
    let (a, b) = (of(a), of(b));
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let differs = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (b - a).abs() > 0.01 * a.abs().max(b.abs()),
        _ => true,
    };
    keys.into_iter()
        .map(|key| Counter { name: key.clone(), a: a.get(key).copied(), b: b.get(key).copied() })
        .filter(|counter| differs(counter.a, counter.b))
        .collect()
}
