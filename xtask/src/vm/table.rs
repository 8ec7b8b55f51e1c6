//! The table of all cases, on the terminal and in the documentation.

use super::case::Case;
use super::seen::Counts;
use std::fmt::Write;
use std::path::Path;

/// How a case came out.
pub(super) struct Row {
    pub(super) case: &'static Case,
    /// What was measured; `None` for a case that measures nothing or did not get so far.
    pub(super) counts: Option<Counts>,
    pub(super) seconds: f64,
    /// Everything that is wrong.
    pub(super) problems: Vec<String>,
    /// Why it did not run.
    pub(super) skipped: Option<String>,
}

impl Row {
    /// Of a case that has not run.
    pub(super) fn of(case: &'static Case) -> Self {
        Self { case, counts: None, seconds: 0.0, problems: vec![], skipped: None }
    }
}

/// The table for the terminal.
pub(super) fn terminal(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<20} {:<11} {:>8} {:>7} {:>6} {:>7}  {}\n",
        "case", "kernel", "measured", "skipped", "failed", "seconds", "came out"
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
    format!("{} {}", case.line.name(), case.arch.debian())
}

fn cells(counts: Option<Counts>) -> (String, String, String) {
    counts.map_or(("-".into(), "-".into(), "-".into()), |counts| {
        (counts.measured.to_string(), counts.skipped.to_string(), counts.failed.to_string())
    })
}

/// The page that has the table.
const PAGE: &str = "docs/reference/machines.md";

/// A line of the page.
fn line(row: &Row) -> String {
    let (measured, skipped, _) = cells(row.counts);
    format!("| {} | {} | {measured} | {skipped} | {} |", row.case.name, kernel(row.case), row.case.what)
}

/// Brings the page up to date with these rows; other lines stay.
fn updated(page: &str, rows: &[Row]) -> String {
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

/// Compares the page with what was seen, and writes it anew when `bless` says so.
///
/// # Errors
/// When it says something else.
pub(super) fn compare(root: &Path, rows: &[Row], bless: bool) -> anyhow::Result<()> {
    let path = root.join(PAGE);
    let page = std::fs::read_to_string(&path)?;
    let updated = updated(&page, rows);
    if bless {
        return Ok(std::fs::write(path, updated)?);
    }
    let different: Vec<&str> = updated.lines().filter(|line| !page.lines().any(|old| old == *line)).collect();
    anyhow::ensure!(
        different.is_empty(),
        "{PAGE} says something else; cargo xtask vm --bless writes:\n{}",
        different.join("\n")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Counts, Row, terminal, updated};
    use crate::vm::cases::CASES;

    fn row(measured: usize) -> Row {
        let counts = Some(Counts { measured, skipped: 1, failed: 0 });
        Row { case: &CASES[0], counts, seconds: 7.25, problems: vec![], skipped: None }
    }

    #[test]
    fn the_page_is_brought_up_to_date() {
        let page = "# Title\n\n| case |\n| --- |\n| other | x |\n\nEnd\n";
        let once = updated(page, &[row(36)]);
        assert_eq!(
            once,
            "# Title\n\n| case |\n| --- |\n| other | x |\n| two-cpus | 6.12 amd64 | 36 | 1 | two CPUs |\n\nEnd\n"
        );
        assert_eq!(updated(&once, &[row(36)]), once);
        assert!(updated(&once, &[row(35)]).contains("| 35 | 1 |"));
        // What did not work says nothing.
        let failed = Row { problems: vec!["x".into()], ..row(3) };
        assert_eq!(updated(&once, &[failed]), once);
    }

    #[test]
    fn the_terminal_has_one_line_for_each_case() {
        let text = terminal(&[row(36), Row { skipped: Some("offline".into()), counts: None, ..row(0) }]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "two-cpus             6.12 amd64        36       1      0     7.2  ok");
        assert!(lines[2].ends_with("skipped"));
        assert!(lines.iter().all(|line| line.len() <= 80));
    }
}
