//! The text of Go's benchmarks (golang.org/design/14313-benchmark-format), for `benchstat`.
//!
//! `benchstat` makes its intervals from repeated lines: concatenate the exports of several runs. The interval of
//! this run stands in a comment above each line. Units of simulated counts are declared exact.

use super::rows::{Figure, Row, Unit};
use super::{ExportError, Exported, Format, number};
use crate::words;
use std::collections::BTreeSet;
use tollgate_record::Run;
use tollgate_record::text::printable;

pub(super) const FORMAT: Format =
    Format { name: "benchstat", what: "Go's benchstat (benchmark text; simulated counts as exact)", write };

fn write(run: &Run, rows: &[Row<'_>]) -> Result<Exported, ExportError> {
    let mut lines = vec![
        // What tells runs of one machine apart must not be configuration: it would put each in a table of its own.
        comment(&format!("tollgate {} run {} of {}", run.tool.version, run.id, run.started)),
        "pkg: tollgate".to_owned(),
    ];
    let arch = match run.host.arch.as_str() {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    lines.extend(config("goos", if run.host.kernel.release.is_empty() { "" } else { "linux" }));
    lines.extend(config("goarch", arch));
    lines.extend(config("cpu", &run.host.cpu.model));
    lines.extend(config("kernel", &run.host.kernel.release));
    let units: BTreeSet<(Unit, bool)> =
        rows.iter().flat_map(|row| row.figures().into_iter().map(|figure| key(row, &figure))).collect();
    for (unit, exact) in units {
        let assume = if exact { " assume=exact" } else { "" };
        lines.push(format!("Unit {} better=lower{assume}", word(unit, exact)));
    }
    for row in rows {
        lines.extend(benchmark(row));
    }
    lines.push(String::new());
    Ok(Exported { text: lines.join("\n"), left_out: Vec::new() })
}

/// A line that the format lets every reader ignore.
fn comment(text: &str) -> String {
    format!("# {}", printable(text))
}

fn config(key: &str, value: &str) -> Option<String> {
    let value = printable(value);
    let value = value.trim();
    (!value.is_empty()).then(|| format!("{key}: {value}"))
}

/// The unit and whether it is exact. What a unit is assumed to be holds for a whole file, so exact counts have
/// units of their own.
fn key(row: &Row<'_>, figure: &Figure) -> (Unit, bool) {
    (figure.unit, row.is_exact() && figure.unit != Unit::Nanoseconds)
}

fn word(unit: Unit, exact: bool) -> String {
    format!("{}{}/op", if exact { "sim-" } else { "" }, unit.name())
}

fn benchmark(row: &Row<'_>) -> Vec<String> {
    let figures = row.figures();
    if figures.is_empty() {
        return vec![comment(&format!("{}: {}", row.name, row.status()))];
    }
    let mut about = format!("{}: an op is one {}", row.name, words::per(row.result.per));
    let mut line = format!("Benchmark{} {}", name(&row.name), row.result.crossings.max(1));
    for figure in &figures {
        let (unit, exact) = key(row, figure);
        let unit = word(unit, exact);
        line.push_str(&format!(" {} {unit}", number(figure.value)));
        if let Some([low, high]) = figure.interval.filter(|_| !exact) {
            about.push_str(&format!("; 95 % from {} to {} {unit}", number(low), number(high)));
        }
    }
    for more in [row.params(), row.warnings()] {
        if !more.is_empty() {
            about.push_str(&format!("; {more}"));
        }
    }
    vec![comment(&about), line]
}

/// A name as the format has it: one word, which begins with a capital, and whose end is not taken for a number of
/// processors.
fn name(name: &str) -> String {
    let mut letters = name.chars().map(|c| if c.is_whitespace() { '_' } else { c });
    let first = letters.next().unwrap_or('_');
    let mut word: String = first.to_uppercase().chain(letters).collect();
    let digits = word.bytes().rev().take_while(u8::is_ascii_digit).count();
    if digits > 0 && word[..word.len() - digits].ends_with('-') {
        word.push_str("-1");
    }
    word
}
