//! The text of Go's benchmarks (golang.org/design/14313-benchmark-format), for `benchstat`.
//!
//! `benchstat` makes its intervals from repeated lines, so a row has a line for each epoch, which is a process of its
//! own; exports of several runs may be concatenated. The headline and the interval of this run are in a comment above
//! the lines. Units of simulated counts are declared exact.

use super::rows::{ExportError, ExportFigure, ExportRow, Exported, Unit, number};
use std::collections::BTreeSet;
use tollgate_record::text::printable;
use tollgate_record::{EpochFigure, Run};

pub(super) fn write(run: &Run, rows: &[ExportRow<'_>]) -> Result<Exported, ExportError> {
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
    Ok(lines.join("\n").into())
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
fn key(row: &ExportRow<'_>, figure: &ExportFigure) -> (Unit, bool) {
    (figure.unit, row.is_exact() && figure.unit != Unit::Nanoseconds)
}

fn word(unit: Unit, exact: bool) -> String {
    format!("{}{}/op", if exact { "sim-" } else { "" }, unit.name())
}

fn benchmark(row: &ExportRow<'_>) -> Vec<String> {
    let figures = row.figures();
    if figures.is_empty() {
        return vec![comment(&format!("{}: {}", row.name, row.status()))];
    }
    let epochs = row.epochs();
    let clocked = |epoch: &EpochFigure| Some(epoch.ns * epoch.core_hz? / 1e9).filter(|it| it.is_finite());
    let cycles: Option<Vec<f64>> = epochs.iter().map(clocked).collect();
    let has_cycles = !epochs.is_empty() && figures.iter().any(|figure| figure.unit == Unit::Cycles);
    let cycles = cycles.filter(|_| has_cycles);
    let mut about = format!("{}: an op is one {}", row.name, row.result.per.word());
    let start = |times: u64| format!("Benchmark{} {}", name(&row.name), times.max(1));
    let each = row.result.crossings / epochs.len().max(1) as u64;
    let mut lines: Vec<String> =
        epochs.iter().map(|epoch| format!("{} {} ns/op", start(each), number(epoch.ns))).collect();
    for (line, cycles) in lines.iter_mut().zip(cycles.iter().flatten()) {
        line.push_str(&format!(" {} cycles/op", number(*cycles)));
    }
    // Figures that are known of the whole only: a line of their own, or all there is.
    let mut whole = start(row.result.crossings);
    let is_repeated = |unit: Unit| match unit {
        Unit::Nanoseconds => !epochs.is_empty(),
        Unit::Cycles => cycles.is_some(),
        Unit::Ticks | Unit::Instructions => false,
    };
    for figure in &figures {
        let (unit, exact) = key(row, figure);
        let unit = word(unit, exact);
        if is_repeated(figure.unit) {
            about.push_str(&format!("; {} {unit}", number(figure.value)));
        } else {
            whole.push_str(&format!(" {} {unit}", number(figure.value)));
        }
        if let Some([low, high]) = figure.interval().filter(|_| !exact) {
            about.push_str(&format!("; 95 % from {} to {} {unit}", number(low), number(high)));
        }
    }
    for more in [row.params(), row.warnings()] {
        if !more.is_empty() {
            about.push_str(&format!("; {more}"));
        }
    }
    if !figures.iter().all(|figure| is_repeated(figure.unit)) {
        lines.push(whole);
    }
    lines.insert(0, comment(&about));
    lines
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
