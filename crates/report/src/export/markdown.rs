//! A table for a pull request or an issue, as GitHub's Markdown has it.

use super::rows::{ExportError, ExportFigure, ExportRow, Exported, Unit};
use tollgate_record::number;
use tollgate_record::text::printable;
use tollgate_record::{Run, Status};

pub(super) fn write(run: &Run, rows: &[ExportRow<'_>]) -> Result<Exported, ExportError> {
    let mut lines =
        vec![format!("**tollgate {}**, run {}", escaped(&run.tool.version), escaped(&run.id)), String::new()];
    let facts = [&run.host.cpu.model, &run.host.kernel.release, &run.started].map(|fact| escaped(fact));
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    lines.extend([facts.join(", "), String::new()]);
    if !run.complete {
        lines.extend(["The run was interrupted: rows may be missing.".into(), String::new()]);
    }
    lines.push("| probe | per | figure | unit | 95 % interval | ± | engine | warnings |".into());
    lines.push("|:--|:--|--:|:--|--:|--:|:--|:--|".into());
    let mut absent = Vec::new();
    for row in rows {
        let figures = row.figures();
        // Nanoseconds are what is compared; cycles and ticks where there is nothing else.
        match figures.iter().find(|figure| figure.unit == Unit::Nanoseconds).or(figures.first()) {
            Some(figure) => lines.push(line(row, figure)),
            None => absent.push(row),
        }
    }
    if !absent.is_empty() {
        lines.extend([String::new(), "Without a figure:".into(), String::new()]);
        for row in absent {
            let status =
                if row.result.status == Status::Measured { "no figure".into() } else { row.status() };
            lines.push(format!("- {}: {}", escaped(&row.name), escaped(&status)));
        }
    }
    lines.push(String::new());
    Ok(lines.join("\n").into())
}

fn line(row: &ExportRow<'_>, figure: &ExportFigure) -> String {
    let (interval, half) = match figure.interval() {
        _ if row.is_exact() => ("exact".into(), String::new()),
        Some([low, high]) => {
            let half = (high - low) / 2.0 / figure.value.abs();
            let half = if low <= 0.0 && high >= 0.0 { "-".into() } else { number::percent(half) };
            (format!("{} to {}", number::figure(low), number::figure(high)), half)
        }
        None => ("not known".into(), String::new()),
    };
    let cells = [
        escaped(&row.name),
        row.result.per.word().into(),
        number::figure(figure.value),
        figure.unit.name().into(),
        interval,
        half,
        escaped(&row.result.engine),
        escaped(&row.warnings()),
    ];
    format!("| {} |", cells.join(" | "))
}

/// Text without a meaning: what Markdown or HTML would take for markup has a backslash before it, and `@` does not
/// call anybody.
fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for c in printable(text).trim().chars() {
        match c {
            '@' => safe.push_str("@\u{200b}"),
            c if c.is_ascii_punctuation()
                && !matches!(c, '/' | ',' | '.' | ':' | '-' | '=' | '%' | '(' | ')') =>
            {
                safe.extend(['\\', c]);
            }
            c => safe.push(c),
        }
    }
    safe
}
