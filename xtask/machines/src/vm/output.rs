//! The output of a case: the records of its runs, doctor's findings, and other lines.

use super::console::{Script, Section};
use crate::rows;
use std::collections::BTreeMap;
use tollgate_record::{Finding, Host, Measurement, Run, Status, document};

/// The output of one case.
pub(super) struct CaseOutput {
    pub(super) host: Option<Host>,
    pub(super) findings: Vec<Finding>,
    /// Each record by the name of the script that printed it.
    pub(super) runs: BTreeMap<String, Run>,
    /// The output of the other scripts, for each boot.
    pub(super) texts: Vec<BTreeMap<String, String>>,
}

/// The number of rows by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) measured: usize,
    pub(super) skipped: usize,
    pub(super) failed: usize,
}

impl CaseOutput {
    /// Reads the sections of every boot.
    ///
    /// # Errors
    /// When a script did not run, failed, or printed an invalid record.
    pub(super) fn read(scripts: &[Script], boots: &[Vec<Section>]) -> Result<Self, String> {
        let mut output = Self { host: None, findings: Vec::new(), runs: BTreeMap::new(), texts: Vec::new() };
        for sections in boots {
            let mut texts = BTreeMap::new();
            for (at, script) in scripts.iter().enumerate() {
                let file = format!("{at:02}-{}", script.name);
                let Some(section) = sections.iter().find(|section| section.name == file) else {
                    return Err(format!("{} did not run to its end", script.name));
                };
                if section.status != 0 {
                    return Err(format!(
                        "{} ended with status {}: {}",
                        script.name, section.status, section.error
                    ));
                }
                let wrong = |error: &dyn std::fmt::Display| {
                    format!("the output of {} cannot be read ({error}): {}", script.name, section.out)
                };
                match script.name {
                    "doctor" => {
                        let mut value: serde_json::Value =
                            serde_json::from_str(&section.out).map_err(|error| wrong(&error))?;
                        let findings = serde_json::from_value(value["findings"].take());
                        output.findings = findings.map_err(|error| wrong(&error))?;
                        let host =
                            serde_json::from_value(value["host"].take()).map_err(|error| wrong(&error))?;
                        output.host = Some(host);
                    }
                    name if section.out.starts_with('{') => {
                        let run =
                            document::from_json(section.out.as_bytes()).map_err(|error| wrong(&error))?;
                        output.runs.insert(name.to_owned(), run);
                    }
                    name => {
                        texts.insert(name.to_owned(), section.out.clone());
                    }
                }
            }
            output.texts.push(texts);
        }
        Ok(output)
    }

    /// What is wrong on any machine.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems: Vec<String> = Vec::new();
        for (name, run) in &self.runs {
            if !run.complete {
                problems.push(format!("{name} is not complete"));
            }
            problems.extend(run.results.iter().filter_map(rows::problem));
        }
        problems
    }

    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for row in self.runs.values().flat_map(|run| &run.results) {
            match row.status {
                Status::Measured => counts.measured += 1,
                Status::Skipped => counts.skipped += 1,
                Status::Failed => counts.failed += 1,
            }
        }
        counts
    }

    /// The row of a probe and an engine.
    ///
    /// # Errors
    /// When there is no such row.
    pub(super) fn row(&self, probe: &str, engine: &str) -> Result<&Measurement, String> {
        let mut rows = self.runs.values().flat_map(|run| &run.results);
        let row = rows.find(|row| row.probe == probe && row.engine == engine);
        row.ok_or_else(|| format!("there is no row {probe} of {engine}"))
    }
}
