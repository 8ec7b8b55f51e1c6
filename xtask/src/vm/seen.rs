//! What a guest left, read: the records of its runs, doctor's findings, and other lines.

use super::case::{Case, Expect};
use super::console::Section;
use std::collections::BTreeMap;
use tollgate_record::{Finding, Host, Measurement, Run, Severity, Status, document};

/// What one case left.
pub(super) struct Seen {
    pub(super) host: Option<Host>,
    pub(super) findings: Vec<Finding>,
    /// Each record by the name of the script that printed it.
    pub(super) runs: BTreeMap<String, Run>,
    /// What the other scripts printed, boot by boot.
    pub(super) texts: Vec<BTreeMap<String, String>>,
}

/// How many rows of which kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) measured: usize,
    pub(super) skipped: usize,
    pub(super) failed: usize,
}

impl Seen {
    /// Reads the sections of every boot.
    ///
    /// # Errors
    /// A script that failed, or printed what it should not.
    pub(super) fn read(case: &Case, boots: &[Vec<Section>]) -> Result<Self, String> {
        let mut seen = Self { host: None, findings: Vec::new(), runs: BTreeMap::new(), texts: Vec::new() };
        for sections in boots {
            let mut texts = BTreeMap::new();
            for (at, script) in case.scripts.iter().enumerate() {
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
                    format!("{} printed what cannot be read ({error}): {}", script.name, section.out)
                };
                match script.name {
                    "doctor" => {
                        let mut value: serde_json::Value =
                            serde_json::from_str(&section.out).map_err(|error| wrong(&error))?;
                        let findings = serde_json::from_value(value["findings"].take());
                        seen.findings = findings.map_err(|error| wrong(&error))?;
                        let host =
                            serde_json::from_value(value["host"].take()).map_err(|error| wrong(&error))?;
                        seen.host = Some(host);
                    }
                    name if section.out.starts_with('{') => {
                        let run =
                            document::from_json(section.out.as_bytes()).map_err(|error| wrong(&error))?;
                        seen.runs.insert(name.to_owned(), run);
                    }
                    name => {
                        texts.insert(name.to_owned(), section.out.clone());
                    }
                }
            }
            seen.texts.push(texts);
        }
        Ok(seen)
    }

    /// Everything that is not as it must be.
    pub(super) fn problems(&self, case: &Case) -> Vec<String> {
        let mut problems: Vec<String> = Vec::new();
        for (name, run) in &self.runs {
            if !run.complete {
                problems.push(format!("{name} is not complete"));
            }
            problems.extend(
                run.results.iter().filter_map(|row| wrong(row).map(|why| format!("{}: {why}", row.probe))),
            );
        }
        for expect in case.expects {
            match expect {
                Expect::Skips(wanted) => problems.extend(self.skips(wanted)),
                Expect::Doctor(code, severity, words) => problems.extend(self.doctor(code, *severity, words)),
                Expect::Check(check) => problems.extend(check(self).err()),
            }
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

    /// The row of a probe, under an engine.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn row(&self, probe: &str, engine: &str) -> Result<&Measurement, String> {
        let mut rows = self.runs.values().flat_map(|run| &run.results);
        let row = rows.find(|row| row.probe == probe && row.engine == engine);
        row.ok_or_else(|| format!("there is no row {probe} of {engine}"))
    }

    fn skips(&self, wanted: &[(&str, &str)]) -> Vec<String> {
        let Some(run) = self.runs.get("run") else { return vec!["nothing was run".into()] };
        let mut problems = Vec::new();
        for (pattern, _) in wanted {
            if !run.results.iter().any(|row| matches(pattern, &row.probe) && row.status == Status::Skipped) {
                problems.push(format!("{pattern} was not skipped"));
            }
        }
        for row in run.results.iter().filter(|row| row.status == Status::Skipped) {
            let reason = row.reason.as_deref().unwrap_or_default();
            match wanted.iter().find(|(pattern, _)| matches(pattern, &row.probe)) {
                None => problems.push(format!("{} was skipped: {reason}", row.probe)),
                Some((_, words)) if !reason.contains(words) => {
                    problems.push(format!(
                        "{} was skipped for another reason than {words:?}: {reason}",
                        row.probe
                    ));
                }
                Some(_) => {}
            }
        }
        problems
    }

    fn doctor(&self, code: &str, severity: Severity, words: &str) -> Option<String> {
        let Some(found) = self.findings.iter().find(|finding| finding.code == code) else {
            return Some(format!("doctor does not speak of {code}"));
        };
        let right = found.severity == severity && found.what.contains(words);
        let quiet = severity == Severity::Ok;
        let whole =
            quiet || (!found.effect.is_empty() && (found.fix.is_some() || severity == Severity::Info));
        (!right || !whole)
            .then(|| format!("doctor says of {code}: {found:?}; not {severity:?} with {words:?}"))
    }
}

/// What is wrong with a row, wherever it was made.
fn wrong(row: &Measurement) -> Option<String> {
    let reason = row.reason.as_deref().unwrap_or_default();
    match row.status {
        Status::Failed => Some(format!("failed: {reason}")),
        Status::Skipped if reason.is_empty() => Some("skipped without a reason".into()),
        Status::Skipped if row.enable.as_deref().unwrap_or_default().is_empty() => {
            Some(format!("skipped ({reason}) without a word on what would enable it"))
        }
        Status::Skipped if row.ns.is_some() => Some("skipped with a figure".into()),
        Status::Skipped => None,
        Status::Measured => {
            let figures = [row.ns, row.cycles, row.ticks];
            let mut figures = figures.iter().flatten().peekable();
            if figures.peek().is_none() {
                return Some("measured without a figure".into());
            }
            figures.any(|figure| !figure.estimate.is_finite()).then(|| "a figure is not a number".into())
        }
    }
}

fn matches(pattern: &str, probe: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == probe, |start| probe.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::{Seen, matches, wrong};
    use tollgate_record::{Measurement, Per, Status};

    #[test]
    fn a_skip_without_reason_or_remedy_is_wrong() {
        let mut row = Measurement::empty("core/pipe", "host", Per::Switch, Status::Skipped);
        assert!(wrong(&row).unwrap().contains("without a reason"));
        row.reason = Some("one CPU".into());
        assert!(wrong(&row).unwrap().contains("enable"));
        row.enable = Some("two".into());
        assert_eq!(wrong(&row), None);
        row.status = Status::Failed;
        assert_eq!(wrong(&row).unwrap(), "failed: one CPU");
        row.status = Status::Measured;
        assert_eq!(wrong(&row).unwrap(), "measured without a figure");
    }

    #[test]
    fn patterns() {
        assert!(matches("core/*", "core/pipe") && matches("core/pipe", "core/pipe"));
        assert!(!matches("core/p", "core/pipe") && !matches("core/*", "thread/pipe"));
    }

    #[test]
    fn doctor_must_have_spoken() {
        let seen = Seen { host: None, findings: vec![], runs: [].into(), texts: vec![] };
        let said = seen.doctor("one-cpu", tollgate_record::Severity::Info, "one CPU").unwrap();
        assert_eq!(said, "doctor does not speak of one-cpu");
        assert_eq!(seen.skips(&[]), ["nothing was run"]);
    }
}
