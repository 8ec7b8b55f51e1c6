//! Pairs each result of A with one of B.

use std::collections::BTreeMap;
use tollgate_record::{Measurement, Per, Run, Status};

/// One probe on both sides, with its result in each run that has one.
pub(super) struct Pair<'r> {
    pub(super) probe: &'r str,
    pub(super) engine: &'r str,
    pub(super) params: BTreeMap<String, String>,
    /// Whether parameters differ; then it was matched by name alone.
    pub(super) other_params: Option<String>,
    pub(super) per_a: Per,
    pub(super) per_b: Per,
    /// Results of A's runs that gave a figure, with the run's place.
    pub(super) a: Vec<(usize, &'r Measurement)>,
    /// The same of B.
    pub(super) b: Vec<(usize, &'r Measurement)>,
}

type Name<'r> = (&'r str, &'r str);
type Params = BTreeMap<String, String>;
type Found<'r> = Vec<(Name<'r>, Params, Vec<(usize, &'r Measurement)>)>;

/// The probes that have a figure on both sides, in A's order.
pub(super) fn pairs<'r>(a: &'r [Run], b: &'r [Run]) -> Vec<Pair<'r>> {
    let (a, mut b) = (gather(a), gather(b));
    let alone =
        |all: &Found<'_>, name: Name<'_>| all.iter().filter(|(other, ..)| *other == name).count() == 1;
    // A name that occurs once on each side is the same probe whatever its parameters.
    let single: Vec<bool> = a.iter().map(|(name, ..)| alone(&a, *name) && alone(&b, *name)).collect();
    let mut pairs = Vec::new();
    for ((name, params, results), single) in a.into_iter().zip(single) {
        let Some(place) = b.iter().position(|(other, with, _)| *other == name && (single || *with == params))
        else {
            continue;
        };
        let (_, with, of_b) = b.swap_remove(place);
        pairs.push(Pair {
            probe: name.0,
            engine: name.1,
            other_params: differing(&params, &with),
            params,
            per_a: results[0].1.per,
            per_b: of_b[0].1.per,
            a: results,
            b: of_b,
        });
    }
    pairs
}

/// Probes that `ours` measured and `theirs` did not, each with what became of it there.
pub(super) fn missing(ours: &[Run], theirs: &[Run]) -> Vec<String> {
    let there = gather(theirs);
    gather(ours)
        .into_iter()
        .filter(|(name, ..)| !there.iter().any(|(other, ..)| other == name))
        .map(|((probe, engine), ..)| {
            let fate = theirs
                .iter()
                .flat_map(|run| &run.results)
                .find(|result| result.probe == probe && result.engine == engine)
                .map(|result| match result.status {
                    Status::Failed => " (failed there)",
                    Status::Skipped => " (skipped there)",
                    Status::Measured => " (no figure there)",
                });
            format!("{probe}{}", fate.unwrap_or_default())
        })
        .collect()
}

/// Every result with a figure, by name and parameters, in the order of the first run that has it.
fn gather(runs: &[Run]) -> Found<'_> {
    let mut found: Found<'_> = Vec::new();
    for (place, run) in runs.iter().enumerate() {
        for result in run.results.iter().filter(|result| has_figure(result)) {
            let name = (result.probe.as_str(), result.engine.as_str());
            let params = params(result);
            match found.iter_mut().find(|(other, with, _)| *other == name && *with == params) {
                Some((.., all)) => all.push((place, result)),
                None => found.push((name, params, vec![(place, result)])),
            }
        }
    }
    found
}

fn has_figure(result: &Measurement) -> bool {
    result.status == Status::Measured && (result.ns.is_some() || result.cycles.is_some())
}

/// What was asked for.
fn params(result: &Measurement) -> Params {
    let text = |value: serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    result.asked.fields().into_iter().map(|(key, value)| (key, text(value))).collect()
}

/// The parameters that differ, in words.
fn differing(a: &Params, b: &Params) -> Option<String> {
    let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let words: Vec<String> = keys
        .into_iter()
        .filter(|key| a.get(*key) != b.get(*key))
        .map(|key| {
            let value = |side: &Params| side.get(key).map_or("none".into(), |value| short(value));
            format!("{} is {} in A and {} in B", short(key), value(a), value(b))
        })
        .collect();
    (!words.is_empty()).then(|| crate::text::list(&words, 2))
}

/// A string of a record in a sentence.
pub(super) fn short(text: &str) -> String {
    tollgate_record::text::printable(text).chars().take(60).collect()
}
