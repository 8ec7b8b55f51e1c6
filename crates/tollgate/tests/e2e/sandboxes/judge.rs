//! What must hold in every place, and what a place took away.

use super::commands::{Command, Kind};
use crate::scene::Outcome;
use serde_json::Value;
use std::collections::BTreeMap;
use tollgate_boundary::{CROSSINGS, FAULT_KINDS, PROBES};

/// A row of a document, told apart from others of the same probe by its number among them.
pub(crate) type Key = (String, usize);

/// What became of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) enable: String,
}

impl Row {
    /// Whether it has a total, with or without its parts.
    pub(crate) fn has_figure(&self) -> bool {
        matches!(self.status.as_str(), "measured" | "total only")
    }
}

/// What a command said in a place.
#[derive(Default)]
pub(crate) struct Answer {
    pub(crate) rows: BTreeMap<Key, Row>,
    /// Codes of findings that are not well.
    pub(crate) findings: Vec<String>,
    /// The machine, in a few words.
    pub(crate) machine: String,
    /// The figures of a simulation.
    pub(crate) exact: Value,
    /// The text that was printed instead of a document.
    pub(crate) refused: Option<(Option<i32>, String)>,
}

impl Answer {
    pub(crate) fn measured(&self) -> usize {
        self.rows.values().filter(|row| row.has_figure()).count()
    }
}

/// Reads what a command said, and notes everything that must never be.
pub(crate) fn judge(command: &Command, outcome: &Outcome, wrong: &mut Vec<String>) -> Answer {
    let mut answer = Answer::default();
    let mut complain = |text: String| wrong.push(format!("{}: {text}", command.name));
    if outcome.signal.is_some() {
        complain(format!("ended by signal {:?}", outcome.signal));
    }
    if outcome.stdout.is_empty() {
        answer.refused = Some((outcome.exit, crate::case::squeezed(&outcome.stderr)));
        return answer;
    }
    if !matches!(outcome.exit, Some(0 | 1)) {
        complain(format!("exit {:?} with a document", outcome.exit));
    }
    let document = outcome.printed();
    let host = &document["host"];
    answer.machine = format!(
        "{} with {} CPUs, Linux {}{}, as uid {}",
        host["cpu"]["model"].as_str().unwrap_or("a machine"),
        host["cpu"]["allowed"].as_array().map_or(0, Vec::len),
        host["kernel"]["release"].as_str().unwrap_or_default().split('-').next().unwrap_or_default(),
        host["hypervisor"].as_str().map_or(String::new(), |name| format!(" ({name} guest)")),
        host["uid"]
    );
    if command.kind == Kind::Doctor {
        let findings = document["findings"].as_array().expect("findings");
        answer.findings = findings
            .iter()
            .filter(|finding| finding["severity"] != "ok")
            .map(|finding| finding["code"].as_str().expect("a code").to_owned())
            .collect();
        return answer;
    }
    let mut failed = false;
    for result in document["results"].as_array().expect("results") {
        let probe = result["probe"].as_str().expect("a probe").to_owned();
        let text = |key: &str| result[key].as_str().unwrap_or_default().to_owned();
        let mut row = Row { status: text("status"), reason: text("reason"), enable: text("enable") };
        for fault in faults(&probe, result, &row, command.kind) {
            complain(format!("{probe} {}: {fault}", result["asked"]));
        }
        failed |= row.status == "failed";
        if row.status == "measured" && result["phases"].as_array().is_none_or(Vec::is_empty) {
            let warnings = result["warnings"].as_array().into_iter().flatten();
            row.status = "total only".into();
            row.reason =
                warnings.filter_map(|warning| warning["text"].as_str()).collect::<Vec<_>>().join("; ");
        }
        let number = answer.rows.keys().filter(|(name, _)| *name == probe).count();
        answer.rows.insert((probe, number), row);
    }
    if command.kind == Kind::Simulated {
        answer.exact = document["results"].clone();
    }
    if outcome.exit == Some(0) && (failed || document["complete"] != true) {
        complain("exit 0 though something failed".into());
    }
    answer
}

/// Everything about a row that must never be.
fn faults(probe: &str, result: &Value, row: &Row, kind: Kind) -> Vec<String> {
    let mut found = Vec::new();
    match row.status.as_str() {
        "measured" => {
            if kind == Kind::Measured {
                figures(result, &mut found);
                proofs(probe, result, &mut found);
            }
        }
        "skipped" if row.reason.is_empty() || row.enable.is_empty() => {
            found.push(format!("skipped without reason or remedy: {result}"));
        }
        "failed" if row.reason.is_empty() => found.push("failed without a reason".into()),
        "skipped" | "failed" => {}
        other => found.push(format!("status {other:?}")),
    }
    found
}

/// A figure is a number other than zero, between its extremes.
fn figures(result: &Value, found: &mut Vec<String>) {
    let ns = &result["ns"];
    let number = |key: &str| ns[key].as_f64();
    match number("estimate") {
        None => found.push(format!("measured without a figure: {result}")),
        Some(figure) if figure == 0.0 || !figure.is_finite() => found.push(format!("the figure is {figure}")),
        // No crossing takes a second.
        Some(figure) if figure.abs() > 1e9 => found.push(format!("the figure is {figure} ns")),
        Some(_) => {}
    }
    for phase in result["phases"].as_array().into_iter().flatten() {
        if let Some(figure) = phase["ns"]["estimate"].as_f64().filter(|figure| figure.abs() > 1e9) {
            found.push(format!("the part {} is {figure} ns", phase["name"]));
        }
    }
    if result["samples"].as_u64() == Some(0) {
        found.push("measured without a sample".into());
    }
}

/// A proof that disagrees says so.
fn proofs(probe: &str, result: &Value, found: &mut Vec<String>) {
    let metas = PROBES.iter().chain(CROSSINGS).chain(FAULT_KINDS).map(|probe| probe.meta());
    let Some(meta) = metas.into_iter().find(|meta| meta.id == probe) else { return };
    for claim in meta.proof {
        let Some(count) = result["proof"][claim.key].as_f64() else { continue };
        let off = (count - claim.per_crossing).abs() > claim.tolerance * claim.per_crossing + 1e-9;
        let says = result["warnings"].as_array().is_some_and(|all| !all.is_empty());
        if off && !says {
            found.push(format!("{} is {count} and nothing says so", claim.key));
        }
    }
}
