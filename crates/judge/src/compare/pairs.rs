//! Pairs each result of A with one of B.

use indexmap::IndexMap;
use std::collections::{BTreeMap, BTreeSet};
use tollgate_record::{Asked, Measurement, Per, PhaseName, Run, Status, counter, phase};

/// One probe on both sides, with its result in each run that has one.
pub(super) struct Pair<'r> {
    pub(super) probe: &'r str,
    pub(super) engine: &'r str,
    /// The part of the program's time that is compared, in place of the row's own figure.
    pub(super) part: Option<PhaseName>,
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

pub(crate) type Name<'r> = (&'r str, &'r str);
pub(crate) type Params = BTreeMap<String, String>;
pub(crate) type Found<'r> = IndexMap<(Name<'r>, Params), Vec<(usize, &'r Measurement)>>;

/// The probes that have a figure on both sides, in A's order.
pub(super) fn pairs<'r>(a: &'r [Run], b: &'r [Run]) -> Vec<Pair<'r>> {
    let (a, b) = (gather(a), gather(b));
    // Parameters in which the results of a name do not vary, such as the kernel's release, do not separate them. A name
    // that occurs once on each side is the same probe with any parameters.
    let varying = varying([&a, &b]);
    let key = |name: Name<'r>, params: &Params| {
        (name, varying[&name].iter().map(|key| params.get(key).cloned()).collect())
    };
    let mut of_b: BTreeMap<(Name<'r>, Vec<Option<String>>), _> =
        b.into_iter().map(|((name, params), of_b)| (key(name, &params), (params, of_b))).collect();
    let mut pairs = Vec::new();
    for ((name, params), of_a) in a {
        let Some((with, of_b)) = of_b.remove(&key(name, &params)) else { continue };
        let pair = Pair {
            probe: name.0,
            engine: name.1,
            part: None,
            other_params: differing(&params, &with),
            params,
            per_a: of_a[0].1.per,
            per_b: of_b[0].1.per,
            a: of_a,
            b: of_b,
        };
        let parts: Vec<Pair<'_>> = PARTS.iter().filter_map(|name| pair.part(*name)).collect();
        pairs.push(pair);
        pairs.extend(parts);
    }
    pairs
}

/// Parts of a program's time, and of its cost at a boundary, that have rows of their own.
const PARTS: [PhaseName; 4] = [phase::USER, phase::TOLL, phase::KERNEL_WORK, phase::SYSTEM];

impl<'r> Pair<'r> {
    /// The same rows of a program by a part of their time, if all of them have it.
    fn part(&self, name: PhaseName) -> Option<Self> {
        let has = |(_, it): &(usize, &Measurement)| {
            let of_program = it.found.exec().is_some() || it.found.toll().is_some();
            of_program && it.phase(name).is_some_and(|part| part.ns.is_some())
        };
        self.a.iter().chain(&self.b).all(has).then(|| Self {
            part: Some(name),
            params: self.params.clone(),
            other_params: None,
            a: self.a.clone(),
            b: self.b.clone(),
            ..*self
        })
    }

    /// The nanoseconds of the part that is compared.
    pub(super) fn part_ns(&self, result: &Measurement) -> Option<f64> {
        Some(result.phase(self.part?)?.ns?.estimate)
    }
}

/// For each name the parameters by which its results differ on either side.
fn varying<'r>(sides: [&Found<'r>; 2]) -> BTreeMap<Name<'r>, BTreeSet<String>> {
    let mut varying: BTreeMap<Name<'r>, BTreeSet<String>> = BTreeMap::new();
    for side in sides {
        let mut firsts: BTreeMap<Name<'r>, &Params> = BTreeMap::new();
        for (name, params) in side.keys() {
            let first = firsts.entry(*name).or_insert(params);
            let keys = first.keys().chain(params.keys());
            let differ = keys.filter(|key| first.get(*key) != params.get(*key)).cloned();
            varying.entry(*name).or_default().extend(differ);
        }
    }
    varying
}

/// Probes that `ours` measured and `theirs` did not, each with what became of it there.
pub(super) fn missing(ours: &[Run], theirs: &[Run]) -> Vec<String> {
    let there: BTreeSet<Name<'_>> = gather(theirs).into_keys().map(|(name, _)| name).collect();
    let mut fates: BTreeMap<Name<'_>, Status> = BTreeMap::new();
    for result in theirs.iter().flat_map(|run| &run.results) {
        fates.entry((&result.probe, &result.engine)).or_insert(result.status);
    }
    gather(ours)
        .into_keys()
        .filter(|(name, _)| !there.contains(name))
        .map(|(name, _)| {
            let fate = fates.get(&name).map(|status| match status {
                Status::Failed => " (failed there)",
                Status::Skipped => " (skipped there)",
                Status::Measured => " (no figure there)",
            });
            format!("{}{}", name.0, fate.unwrap_or_default())
        })
        .collect()
}

/// Every result with a figure, by name and parameters, in the order of the first run that has it.
pub(crate) fn gather<'r>(runs: impl IntoIterator<Item = &'r Run>) -> Found<'r> {
    let mut found = Found::new();
    for (place, run) in runs.into_iter().enumerate() {
        for result in run.results.iter().filter(|result| has_figure(result)) {
            let name = (result.probe.as_str(), result.engine.as_str());
            found.entry((name, params(result))).or_default().push((place, result));
        }
    }
    found
}

fn has_figure(result: &Measurement) -> bool {
    let has = result.ns.is_some() || result.cycles.is_some() || result.found.toll().is_some();
    result.status == Status::Measured && (has || instructions(result).is_some())
}

/// The instructions of a crossing of a simulated kernel, if no core counted its cycles.
pub(super) fn instructions(result: &Measurement) -> Option<f64> {
    let is_counted = matches!(result.asked, Asked::Trap(_)) && result.ns.is_none() && result.cycles.is_none();
    result.counter(counter::INSTRUCTIONS).filter(|_| is_counted)
}

fn params(result: &Measurement) -> Params {
    let text = |value: serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    // The head of a comparison names the programs.
    let is_named = |key: &str| key == "command" && result.asked.exec().is_some();
    let fields = result.asked.fields().into_iter().filter(|(key, _)| !is_named(key));
    fields.map(|(key, value)| (key, text(value))).collect()
}

fn differing(a: &Params, b: &Params) -> Option<String> {
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let words: Vec<String> = keys
        .into_iter()
        .filter(|key| a.get(*key) != b.get(*key))
        .map(|key| {
            let value = |side: &Params| side.get(key).map_or("none".into(), |value| short(value));
            format!("{} is {} in A and {} in B", short(key), value(a), value(b))
        })
        .collect();
    (!words.is_empty()).then(|| tollgate_record::text::list(&words, 2))
}

/// A string of a record in a sentence.
pub(crate) fn short(text: &str) -> String {
    tollgate_record::text::short(text, 60)
}
