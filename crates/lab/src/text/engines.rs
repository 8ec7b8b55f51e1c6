//! Several engines, and what they could not do.

use std::fmt::Write;

use super::words::{mean, wrapped};
use crate::LabError;
use crate::bill::{Experiment, TrapBill};

/// The totals of several engines side by side: a row for each experiment, a column for each engine.
#[must_use]
pub fn engines(names: &[&str], bills: &[TrapBill], experiments: &[Experiment]) -> String {
    let mut out = format!("{:<16}{:<22}", "instructions", "");
    names.iter().for_each(|name| {
        let _ = write!(out, "{name:>12}");
    });
    out.push('\n');
    for experiment in experiments {
        let crossing = experiment.crossing;
        let _ = write!(out, "{:<16}{:<22}", experiment.design.name, crossing.name());
        for name in names {
            let bill = bills.iter().find(|bill| {
                let of = bill.experiment;
                bill.engine == *name && of.design == experiment.design && of.crossing == crossing
            });
            let cell = bill.map_or_else(|| "-".to_owned(), |bill| mean(bill.spread.sum, bill.spread.count));
            let _ = write!(out, "{cell:>12}");
        }
        out.push('\n');
    }
    out
}

/// What could not be measured, and why; one reason for several experiments is said once.
#[must_use]
pub fn missing(missing: &[(Experiment, LabError)]) -> String {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for (experiment, why) in missing {
        let name = experiment.design.name;
        let sentence = match why.is_skip() {
            true => why.to_string(),
            false => format!("{}: {why}", experiment.crossing.name()),
        };
        // An engine that is not there can do none of them; that needs no list.
        let listed = !matches!(why, LabError::EngineMissing { .. });
        match reasons.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, names)) if names.contains(&name) || !listed => {}
            Some((_, names)) => names.push(name),
            None => reasons.push((sentence, if listed { vec![name] } else { Vec::new() })),
        }
    }
    let word = if missing.iter().all(|(_, why)| why.is_skip()) { "skipped" } else { "not measured" };
    let line = |(why, names): &(String, Vec<&str>)| match &names[..] {
        [] => wrapped(&format!("{word}: {why}")),
        names => wrapped(&format!("{word}: {}: {why}", names.join(", "))),
    };
    reasons.iter().map(line).collect()
}
