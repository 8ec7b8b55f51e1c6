//! The table of all cases, on the terminal and in the documentation.

use super::cases::Case;
use super::output::Counts;
use std::fmt::Write;
use tollgate_testkit::Recorded;

/// The result of a case.
pub(super) struct CaseResult {
    pub(super) case: &'static Case,
    /// `None` for a case that has no rows or ended before.
    pub(super) counts: Option<Counts>,
    pub(super) seconds: f64,
    /// A sentence for everything that is wrong.
    pub(super) problems: Vec<String>,
    /// Why it did not run.
    pub(super) skipped: Option<String>,
}

impl CaseResult {
    /// The result of a case that has not run.
    pub(super) fn of(case: &'static Case) -> Self {
        Self { case, counts: None, seconds: 0.0, problems: vec![], skipped: None }
    }
}

/// The table for the terminal.
pub(super) fn terminal(rows: &[CaseResult]) -> String {
    let mut text = format!(
        "{:<20} {:<11} {:>8} {:>7} {:>6} {:>7}  {}\n",
        "case", "kernel", "measured", "skipped", "failed", "seconds", "result"
    );
    for row in rows {
        let (measured, skipped, failed) = cells(row.counts);
        let end = match (&row.skipped, row.problems.is_empty()) {
            (Some(_), _) => "skipped",
            (None, true) => "ok",
            (None, false) => "FAILED",
        };
        let _ = writeln!(
            text,
            "{:<20} {:<11} {measured:>8} {skipped:>7} {failed:>6} {:>7.1}  {end}",
            row.case.name,
            kernel(row.case),
            row.seconds
        );
    }
    text
}

fn kernel(case: &Case) -> String {
    format!("{} {}", case.line, case.arch.debian)
}

fn cells(counts: Option<Counts>) -> (String, String, String) {
    counts.map_or(("-".into(), "-".into(), "-".into()), |counts| {
        (counts.measured.to_string(), counts.skipped.to_string(), counts.failed.to_string())
    })
}

/// A line of the page.
fn line(row: &CaseResult) -> String {
    let (measured, skipped, _) = cells(row.counts);
    format!("| {} | {} | {measured} | {skipped} | {} |", row.case.name, kernel(row.case), row.case.what)
}

/// The table of the page with the lines of these rows replaced or added.
fn updated(page: &str, rows: &[CaseResult]) -> String {
    let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
    for row in rows.iter().filter(|row| row.skipped.is_none() && row.problems.is_empty()) {
        let start = format!("| {} |", row.case.name);
        let rule = lines.iter().position(|line| line.starts_with("| --- |"));
        match (lines.iter().position(|line| line.starts_with(&start)), rule) {
            (Some(at), _) => lines[at] = line(row),
            (None, Some(rule)) => {
                let rows = lines[rule + 1..].iter().take_while(|line| line.starts_with('|')).count();
                lines.insert(rule + 1 + rows, line(row));
            }
            (None, None) => {}
        }
    }
    lines.join("\n") + "\n"
}

/// Compares the table of the page with these rows.
///
/// # Errors
/// When it differs.
pub(super) fn check(rows: &[CaseResult]) -> Result<(), String> {
    let recorded = Recorded::in_page("machines", "docs/reference/machines.md");
    recorded.check(&updated(&recorded.text()?, rows))
}

#[cfg(test)]
mod tests {
    use super::{CaseResult, Counts, terminal, updated};
    use crate::vm::cases::CASES;

    fn row(measured: usize) -> CaseResult {
        let counts = Some(Counts { measured, skipped: 1, failed: 0 });
        CaseResult { case: &CASES[0], counts, seconds: 7.25, problems: vec![], skipped: None }
    }

    #[test]
    fn lines_of_the_page_are_replaced_or_added() {
        let page = "# Title\n\n| case |\n| --- |\n| other | x |\n\nEnd\n";
        let once = updated(page, &[row(36)]);
        assert_eq!(
            once,
            "# Title\n\n| case |\n| --- |\n| other | x |\n| two-cpus | 6.12 amd64 | 36 | 1 | two CPUs |\n\nEnd\n"
        );
        assert_eq!(updated(&once, &[row(36)]), once);
        assert!(updated(&once, &[row(35)]).contains("| 35 | 1 |"));
        // A case that failed leaves its line as it is.
        let failed = CaseResult { problems: vec!["x".into()], ..row(3) };
        assert_eq!(updated(&once, &[failed]), once);
    }

    #[test]
    fn the_terminal_has_one_line_for_each_case() {
        let text =
            terminal(&[row(36), CaseResult { skipped: Some("offline".into()), counts: None, ..row(0) }]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "two-cpus             6.12 amd64        36       1      0     7.2  ok");
        assert!(lines[2].ends_with("skipped"));
        assert!(lines.iter().all(|line| line.len() <= 80));
    }
}
