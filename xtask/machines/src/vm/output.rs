//! The output of a case: the records of its runs, doctor's findings, and other lines.

use super::console::{Script, Section};
use crate::rows;
use anyhow::{Context, Result, ensure};
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
    pub(super) fn read(scripts: &[Script], boots: &[Vec<Section>]) -> Result<Self> {
        let mut output = Self { host: None, findings: Vec::new(), runs: BTreeMap::new(), texts: Vec::new() };
        for sections in boots {
            output.texts.push(BTreeMap::new());
            for (at, script) in scripts.iter().enumerate() {
                let (name, file) = (script.name, format!("{at:02}-{}", script.name));
                let section = sections.iter().find(|section| section.name == file);
                let section = section.with_context(|| format!("{name} did not run to its end"))?;
                ensure!(
                    section.status == 0,
                    "{name} ended with status {}: {}",
                    section.status,
                    section.error
                );
                let read = output.section(name, &section.out);
                read.with_context(|| format!("the output of {name} cannot be read: {}", section.out))?;
            }
        }
        Ok(output)
    }

    fn section(&mut self, name: &str, out: &str) -> Result<()> {
        if name == "doctor" {
            let mut value: serde_json::Value = serde_json::from_str(out)?;
            self.findings = serde_json::from_value(value["findings"].take())?;
            self.host = Some(serde_json::from_value(value["host"].take())?);
        } else if out.starts_with('{') {
            self.runs.insert(name.to_owned(), document::from_json(out.as_bytes())?);
        } else if let Some(texts) = self.texts.last_mut() {
            texts.insert(name.to_owned(), out.to_owned());
        }
        Ok(())
    }

    /// What is wrong on any machine.
    pub(super) fn problems(&self) -> Vec<String> {
        let incomplete = self.runs.iter().filter(|(_, run)| !run.complete);
        let rows = self.runs.values().flat_map(|run| &run.results);
        incomplete
            .map(|(name, _)| format!("{name} is not complete"))
            .chain(rows.filter_map(rows::problem))
            .collect()
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
    pub(super) fn row(&self, probe: &str, engine: &str) -> Result<&Measurement> {
        let mut rows = self.runs.values().flat_map(|run| &run.results);
        let row = rows.find(|row| row.probe == probe && row.engine == engine);
        row.with_context(|| format!("there is no row {probe} of {engine}"))
    }
}
