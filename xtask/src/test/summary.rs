//! The summary: the steps, what did not run and why, what failed, and the count of tests.

use super::tally::Tally;
use anyhow::{Result, ensure};
use std::fmt::Write;
use tollgate_testkit::{Missing, Skip};

/// The result of a step. [`Missing`] is a reason to skip it; any other error is a failure.
pub(super) struct Report {
    pub(super) name: &'static str,
    pub(super) outcome: Result<()>,
    pub(super) seconds: f64,
}

impl Report {
    fn failed(&self) -> bool {
        self.outcome.as_ref().is_err_and(|error| !error.is::<Missing>())
    }
}

/// Prints the summary. Its last line is the count of tests.
///
/// # Errors
/// When a step failed: the names of all that failed.
pub(super) fn print(reports: &[Report], tally: &Tally, skips: &[Skip], seconds: f64) -> Result<()> {
    print!("{}", text(reports, tally, skips, seconds));
    let failed: Vec<&str> = reports.iter().filter(|it| it.failed()).map(|it| it.name).collect();
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

fn text(reports: &[Report], tally: &Tally, skips: &[Skip], seconds: f64) -> String {
    let mut out = format!("\nsummary after {seconds:.1} s\n");
    for report in reports {
        let line = match &report.outcome {
            Ok(()) => "ok".to_owned(),
            Err(reason) if report.failed() => format!("FAILED: {reason:#}"),
            Err(reason) => format!("skipped: {reason:#}"),
        };
        let _ = writeln!(out, "  {:<8} {:6.1} s  {line}", report.name, report.seconds);
    }
    for skip in skips {
        let _ = writeln!(out, "{skip}");
    }
    for failure in &tally.failures {
        let _ = writeln!(out, "failed: {failure}");
    }
    let _ = writeln!(out, "{}", tally.count(skips));
    out
}

#[cfg(test)]
mod tests {
    use super::{Missing, Report, Tally, text};
    use anyhow::anyhow;

    #[test]
    fn the_last_line_is_the_count() {
        let report = |name, outcome| Report { name, outcome, seconds: 1.25 };
        let reports = [
            report("fmt", Ok(())),
            report("clippy", Err(anyhow!("exit status 101"))),
            report("deny", Err(Missing("cargo-deny is missing".to_owned()).into())),
        ];
        let mut tally = Tally::default();
        tally.line("     Running unittests src/lib.rs (target/debug/deps/a)");
        tally.line("test one ... FAILED");
        tally.line("test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured");
        let skips = [tollgate_testkit::Skip::parse("skipped: a::two: no qemu").expect("a skip")];
        let text = text(&reports, &tally, &skips, 3.0);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1..],
            [
                "summary after 3.0 s",
                "  fmt         1.2 s  ok",
                "  clippy      1.2 s  FAILED: exit status 101",
                "  deny        1.2 s  skipped: cargo-deny is missing",
                "skipped: a::two: no qemu",
                "failed: one (unittests src/lib.rs)",
                "1 passed, 1 failed, 1 skipped",
            ]
        );
    }
}
