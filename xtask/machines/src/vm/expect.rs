//! What a case must print.

use super::cases::Case;
use super::output::CaseOutput;
use tollgate_record::{Severity, Status};

/// A sentence for each way in which the output differs from what the case expects.
pub(super) fn problems(case: &Case, output: &CaseOutput) -> Vec<String> {
    let mut problems = Vec::new();
    if case.scripts.iter().any(|script| script.name == "run") {
        problems = skips(output, case.skips);
    }
    problems.extend(case.doctor.iter().filter_map(|it| doctor(output, it.0, it.1, it.2)));
    problems.extend((case.check)(output).err().map(|error| error.to_string()));
    problems
}

fn skips(output: &CaseOutput, wanted: &[(&str, &str)]) -> Vec<String> {
    let Some(run) = output.runs.get("run") else { return vec!["nothing was run".into()] };
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
                problems
                    .push(format!("{} was skipped for another reason than {words:?}: {reason}", row.probe));
            }
            Some(_) => {}
        }
    }
    problems
}

fn doctor(output: &CaseOutput, code: &str, severity: Severity, words: &str) -> Option<String> {
    let Some(found) = output.findings.iter().find(|finding| finding.code == code) else {
        return Some(format!("doctor has no finding {code}"));
    };
    let expected = found.severity == severity && found.what.contains(words);
    let complete = severity == Severity::Ok
        || (!found.effect.is_empty() && (found.fix.is_some() || severity == Severity::Info));
    (!expected || !complete)
        .then(|| format!("doctor's finding {code} is {found:?}; not {severity:?} with {words:?}"))
}

fn matches(pattern: &str, probe: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == probe, |start| probe.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::{CaseOutput, Severity, doctor, matches, skips};

    #[test]
    fn patterns() {
        assert!(matches("core/*", "core/pipe") && matches("core/pipe", "core/pipe"));
        assert!(!matches("core/p", "core/pipe") && !matches("core/*", "thread/pipe"));
    }

    #[test]
    fn a_missing_finding_or_run_is_a_problem() {
        let output = CaseOutput { host: None, findings: vec![], runs: [].into(), texts: vec![] };
        let problem = doctor(&output, "one-cpu", Severity::Info, "one CPU").unwrap();
        assert_eq!(problem, "doctor has no finding one-cpu");
        assert_eq!(skips(&output, &[]), ["nothing was run"]);
    }
}
