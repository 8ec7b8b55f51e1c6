//! Differences between two sides besides the figures, as data.

use super::pairs::{Pair, short};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use tollgate_record::Run;

/// The effect of a difference on a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// Verdicts of measured figures are withheld.
    Spoils,
    /// The figures can differ because of it: to be known before blaming the code.
    Matters,
    /// A fact that `--explain` lists.
    Fact,
}

/// Something that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The name of the fact: `clock`, `effort`, `kernel`.
    pub what: String,
    /// How it is in A.
    pub a: String,
    /// How it is in B.
    pub b: String,
    /// Its effect on the comparison.
    pub weight: Weight,
}

/// A fact of the record: its place, its name, and the effect of a difference. A place that ends in `/`
/// stands for everything below.
type Rule = (&'static str, &'static str, Weight);

static RULES: &[Rule] = &[
    ("/host/clock/source", "clock", Weight::Spoils),
    ("/complete", "complete", Weight::Spoils),
    ("/host/name", "host", Weight::Matters),
    ("/host/arch", "architecture", Weight::Matters),
    ("/host/cpu/model", "processor", Weight::Matters),
    ("/host/cpu/family_model_stepping", "stepping", Weight::Matters),
    ("/host/cpu/microcode", "microcode", Weight::Matters),
    ("/host/kernel/release", "kernel", Weight::Matters),
    ("/host/kernel/version", "kernel build", Weight::Matters),
    ("/host/kernel/command_line", "kernel command line", Weight::Matters),
    ("/host/kernel/mitigations/", "mitigation", Weight::Matters),
    ("/host/kernel/seccomp", "seccomp filter", Weight::Matters),
    ("/host/kernel/traced", "traced", Weight::Matters),
    ("/host/cpu/governor", "governor", Weight::Matters),
    ("/host/cpu/frequency_driver", "frequency driver", Weight::Matters),
    ("/host/cpu/turbo", "turbo", Weight::Matters),
    ("/host/cpu/smt", "SMT", Weight::Matters),
    ("/host/cpu/online", "CPUs online", Weight::Matters),
    ("/host/cpu/measured", "measured CPU", Weight::Matters),
    ("/host/cpu/peer", "peer CPU", Weight::Matters),
    ("/host/cpu/isolated", "isolated CPUs", Weight::Matters),
    ("/host/cpu/tickless", "tickless CPUs", Weight::Matters),
    ("/host/hypervisor", "hypervisor", Weight::Matters),
    ("/host/machine", "machine", Weight::Matters),
    ("/host/page_bytes", "page size", Weight::Matters),
    ("/host/transparent_huge_pages", "huge pages", Weight::Matters),
    ("/host/cgroup/cpu_max", "CPU limit", Weight::Matters),
    ("/tool/version", "tollgate", Weight::Matters),
    ("/tool/commit", "tollgate commit", Weight::Matters),
    ("/host/cpu/flags", "processor flags", Weight::Fact),
    ("/host/cpu/idle/", "idle", Weight::Fact),
    ("/host/clock/kernel_clocksource", "kernel clock source", Weight::Fact),
    ("/host/memory_bytes", "memory", Weight::Fact),
    ("/host/kernel/perf_event_paranoid", "perf_event_paranoid", Weight::Fact),
    ("/host/kernel/autogroup", "autogroup", Weight::Fact),
    ("/host/uid", "user id", Weight::Fact),
    ("/host/capabilities", "capabilities", Weight::Fact),
];

/// All that differs, worst first.
/// `spoils` says whether any row lost its verdict by one.
pub(super) fn differences(a: &[Run], b: &[Run], spoils: bool) -> Vec<Difference> {
    let values = |runs: &[Run]| -> BTreeSet<String> { runs.iter().map(effort).collect() };
    let mut found: Vec<Difference> =
        difference("effort", &values(a), &values(b), Weight::Spoils).into_iter().collect();
    let (a, b) = (facts(a), facts(b));
    let none = BTreeSet::from(["none".to_owned()]);
    let names: BTreeSet<&(usize, String)> = a.keys().chain(b.keys()).collect();
    for key @ (rule, name) in names {
        let [a, b] = [&a, &b].map(|side| side.get(key).unwrap_or(&none));
        found.extend(difference(name, a, b, RULES[*rule].2));
    }
    for difference in found.iter_mut().filter(|it| it.weight == Weight::Spoils && !spoils) {
        difference.weight = Weight::Matters;
    }
    found.sort_by_key(|difference| difference.weight);
    found
}

/// The values of all runs of a side, by the rule's place and the fact's name; `none` is that of a run without it. Runs
/// are read one after another, so that only what differs is held.
fn facts<'r>(runs: impl IntoIterator<Item = &'r Run>) -> BTreeMap<(usize, String), BTreeSet<String>> {
    let mut count = 0;
    let mut facts: BTreeMap<_, (BTreeSet<String>, usize)> = BTreeMap::new();
    for run in runs {
        count += 1;
        // Figures are not looked at here, and are most of a record.
        let whole = serde_json::json!({ "complete": run.complete, "host": run.host, "tool": run.tool });
        for (rule, (place, name, _)) in RULES.iter().enumerate() {
            let mut add = |name: String, value: &Value| {
                let (values, having) = facts.entry((rule, name)).or_default();
                values.insert(words(value));
                *having += 1;
            };
            match place.strip_suffix('/') {
                None => add((*name).into(), whole.pointer(place).unwrap_or(&Value::Null)),
                Some(above) => {
                    let below = whole.pointer(above).and_then(Value::as_object).into_iter().flatten();
                    below.for_each(|(key, value)| add(format!("{name} {key}"), value));
                }
            }
        }
    }
    let with_none = |(mut values, having): (BTreeSet<String>, usize)| {
        values.extend((having < count).then(|| "none".into()));
        values
    };
    facts.into_iter().map(|(key, values)| (key, with_none(values))).collect()
}

/// The facts in the runs of one host, by name; several values are joined. The host's name and the runs' completeness are
/// left out.
pub(crate) fn facts_of(runs: &[&Run]) -> BTreeMap<String, String> {
    let is_fact = |rule: usize| !matches!(RULES[rule].1, "host" | "complete");
    let all = facts(runs.iter().copied()).into_iter().filter(|((rule, _), _)| is_fact(*rule));
    all.map(|((_, name), values)| (name, Vec::from_iter(values).join(" or "))).collect()
}

/// The changes from one run to another that can affect figures, in words.
pub(crate) fn changed(before: &Run, after: &Run) -> Vec<String> {
    let side = std::slice::from_ref;
    differences(side(before), side(after), false)
        .into_iter()
        .filter(|difference| difference.weight != Weight::Fact)
        .map(|difference| format!("{} {} -> {}", difference.what, difference.a, difference.b))
        .collect()
}

fn words(value: &Value) -> String {
    match value {
        Value::Null => "none".into(),
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::Array(all) => all.iter().map(words).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// A side whose runs differ among themselves differs from the other, too.
fn difference(what: &str, a: &BTreeSet<String>, b: &BTreeSet<String>, weight: Weight) -> Option<Difference> {
    if a == b && a.len() == 1 {
        return None;
    }
    let words = |side: &BTreeSet<String>| side.iter().cloned().collect::<Vec<_>>().join(" or ");
    Some(Difference { what: what.into(), a: words(a), b: words(b), weight })
}

/// How much was measured: the options that decide how long and how often. Seeds do not matter.
pub(crate) fn effort(run: &Run) -> String {
    let mut words: Vec<&str> = Vec::new();
    let mut rest = run.command.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        match word.split_once('=').unwrap_or((word, "")) {
            ("--quick", _) => words.push("quick"),
            ("--thorough", _) => words.push("thorough"),
            ("--budget-ms", "") => words.extend(["budget", rest.next().unwrap_or_default()]),
            ("--budget-ms", value) => words.extend(["budget", value]),
            _ => {}
        }
    }
    if words.is_empty() { "usual".into() } else { words.join(" ") }
}

/// Why a row cannot have a verdict: the runs that measured it were not all made alike.
pub(super) fn spoiler(pair: &Pair<'_>, [a, b]: [&[Run]; 2]) -> Option<String> {
    type Fact = (&'static str, fn(&Run) -> String);
    const FACTS: [Fact; 3] = [
        ("the effort", effort),
        ("the clock", |run| run.host.clock.source.clone()),
        ("whether the run was complete", |run| if run.complete { "yes".into() } else { "no".into() }),
    ];
    let differs = |(what, of): &Fact| {
        let values = |places: &[(usize, &tollgate_record::Measurement)], runs: &[Run]| -> BTreeSet<String> {
            places.iter().filter_map(|(place, _)| runs.get(*place)).map(of).collect()
        };
        let (a, b) = (values(&pair.a, a), values(&pair.b, b));
        let words = |side: BTreeSet<String>| short(&Vec::from_iter(side).join(" or "));
        (a.len() != 1 || a != b).then(|| format!("{what} is {} in A and {} in B", words(a), words(b)))
    };
    FACTS.iter().find_map(differs)
}

/// Whether all runs are of one machine, whose core's frequency can be compared away.
pub(super) fn one_host(a: &[Run], b: &[Run]) -> bool {
    let of = |run: &Run| {
        let host = &run.host;
        (host.name.clone(), host.arch.clone(), host.cpu.model.clone(), host.machine.clone())
    };
    let first = of(&a[0]);
    a.iter().chain(b).all(|run| of(run) == first)
}

/// Whether the runs of both sides alternated in pairs, as each record of a pair states.
pub(super) fn interleaved(a: &[Run], b: &[Run]) -> bool {
    let says = |a: &Run, b: &Run| a.interleaved_with.as_deref() == Some(&b.id);
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| says(a, b) && says(b, a))
}
