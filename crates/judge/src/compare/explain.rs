//! The phases, causes and counts behind a difference.

use super::pairs::{Pair, instructions};
use indexmap::IndexSet;
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
    let Some((a, b)) = last(pair) else { return Vec::new() };
    if instructions(a).is_some() != instructions(b).is_some() {
        return Vec::new();
    }
    let total = |result: &Measurement| {
        result.ns.or(result.cycles).map(|it| it.estimate).or_else(|| instructions(result))
    };
    let whole = total(a).zip(total(b)).map(|(a, b)| b * scale - a).filter(|it| *it != 0.0);
    let names: IndexSet<&str> = a.phases.iter().chain(&b.phases).map(|phase| phase.name.as_str()).collect();
    let phases = |name: &str| [a, b].map(|side| side.phases.iter().find(|phase| phase.name == name));
    let mut parts: Vec<Part> =
        names.iter().filter_map(|name| part(name, phases(name), scale, exact)).collect();
    if exact {
        parts.extend(names.iter().flat_map(|name| causes(name, phases(name))));
    }
    for part in &mut parts {
        part.share = whole.map(|whole| part.delta / whole).filter(|share| share.is_finite());
    }
    parts.sort_by(|x, y| y.delta.abs().total_cmp(&x.delta.abs()));
    parts
}

/// The last run of a side stands for it: phases of several runs are not pooled.
fn last<'r>(pair: &Pair<'r>) -> Option<(&'r Measurement, &'r Measurement)> {
    Some((pair.a.last()?.1, pair.b.last()?.1))
}

fn part(name: &str, sides: [Option<&Phase>; 2], scale: f64, exact: bool) -> Option<Part> {
    let [ns_a, ns_b] = sides.map(|phase| phase?.ns);
    let instructions = || sides.map(|phase| phase?.instructions.map(Estimate::point));
    let (unit, a, b) = match sides.map(|phase| phase?.cycles) {
        _ if ns_a.or(ns_b).is_some() => ("ns", ns_a, ns_b.map(|it| it.scaled(scale))),
        [None, None] => match instructions() {
            [None, None] => return None,
            [a, b] => ("instructions", a, b),
        },
        [a, b] => ("cycles", a, b),
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

fn causes(name: &str, sides: [Option<&Phase>; 2]) -> Vec<Part> {
    let keys: BTreeSet<&String> = sides.iter().flatten().flat_map(|phase| phase.causes.keys()).collect();
    let part = |key: &String| {
        let [a, b] = sides.map(|phase| phase.and_then(|it| it.causes.get(key)).copied().unwrap_or(0.0));
        let name = format!("{name}: {key}");
        Part { name, unit: "cycles", a, b, delta: b - a, interval: None, share: None }
    };
    keys.into_iter().map(part).filter(|part| part.delta != 0.0).collect()
}

/// Counts that differ by a hundredth or more, or that only one side has, largest difference first.
pub(super) fn counters(pair: &Pair<'_>) -> Vec<Counter> {
    let Some((a, b)) = last(pair) else { return Vec::new() };
    let counts = [a, b].map(|it| it.counters.iter().chain(&it.proof).collect::<BTreeMap<_, _>>());
    let names: BTreeSet<&String> = counts.iter().flat_map(BTreeMap::keys).copied().collect();
    let counter = |name: &String| {
        let [a, b] = counts.each_ref().map(|side| side.get(name).map(|count| **count));
        Counter { name: name.clone(), a, b }
    };
    let differs = |it: &Counter| match (it.a, it.b) {
        (Some(a), Some(b)) => (b - a).abs() > 0.01 * a.abs().max(b.abs()),
        _ => true,
    };
    let mut counters: Vec<Counter> = names.into_iter().map(counter).filter(differs).collect();
    let difference = |it: &Counter| (it.b.unwrap_or(0.0) - it.a.unwrap_or(0.0)).abs();
    counters.sort_by(|x, y| difference(y).total_cmp(&difference(x)));
    counters
}
