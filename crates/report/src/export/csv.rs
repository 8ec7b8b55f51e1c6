//! Comma-separated values, for spreadsheets and data frames: one line for each figure.

use super::format::{ExportError, Exported, Format, number};
use super::rows::{ExportFigure, ExportRow};
use crate::words;
use serde_json::Value;
use tollgate_record::text::printable;
use tollgate_record::{Estimate, Run, Status};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    what: "spreadsheets, data frames: everything, one line for each figure",
    extension: "csv",
    write,
};

const COLUMNS: [&str; 28] = [
    "run",
    "started",
    "host",
    "cpu",
    "kernel",
    "tool",
    "name",
    "probe",
    "asked",
    "found",
    "engine",
    "status",
    "reason",
    "per",
    "part",
    "unit",
    "estimate",
    "ci_low",
    "ci_high",
    "min",
    "p10",
    "p50",
    "p90",
    "p99",
    "mean",
    "samples",
    "crossings",
    "warnings",
];

fn write(run: &Run, rows: &[ExportRow<'_>]) -> Result<Exported, ExportError> {
    let unwritable = |what: String| ExportError::Unwritable { format: FORMAT.name, what };
    let mut lines = csv::Writer::from_writer(Vec::new());
    lines.write_record(COLUMNS).map_err(|error| unwritable(error.to_string()))?;
    for row in rows {
        for line in parts(row) {
            lines.write_record(record(run, row, &line)).map_err(|error| unwritable(error.to_string()))?;
        }
    }
    let bytes = lines.into_inner().map_err(|error| unwritable(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|error| unwritable(error.to_string()))?;
    Ok(Exported { text, left_out: Vec::new() })
}

/// One figure of a row.
struct Line {
    /// Empty for the whole, `phase: entry`, `counter: cache-misses`, `proof: ...`, `single crossings`.
    part: String,
    unit: String,
    value: Option<f64>,
    interval: Option<[f64; 2]>,
    /// min, p10, p50, p90, p99, mean.
    distribution: Option<[f64; 6]>,
}

impl Line {
    fn of(part: &str, unit: &str, value: f64) -> Self {
        let (part, unit) = (part.into(), unit.into());
        Self { part, unit, value: Some(value), interval: None, distribution: None }
    }

    fn whole(figure: ExportFigure) -> Self {
        let line = Self::of("", figure.unit.name(), figure.value);
        Self { interval: figure.interval, distribution: figure.samples.map(|e| quantiles(&e)), ..line }
    }

    fn phase(name: &str, unit: &str, estimate: &Estimate) -> Self {
        let line = Self::of(&format!("phase: {name}"), unit, estimate.estimate);
        Self { interval: Some(estimate.ci), distribution: Some(quantiles(estimate)), ..line }
    }
}

fn quantiles(e: &Estimate) -> [f64; 6] {
    [e.min, e.p10, e.p50, e.p90, e.p99, e.mean]
}

/// Every figure of a row; one line without a figure for a row that has none.
fn parts(row: &ExportRow<'_>) -> Vec<Line> {
    let result = row.result;
    let mut lines: Vec<Line> = row.figures().into_iter().map(Line::whole).collect();
    if lines.is_empty() {
        let (part, unit) = (String::new(), String::new());
        lines.push(Line { part, unit, value: None, interval: None, distribution: None });
    }
    if result.status != Status::Measured {
        return lines;
    }
    if let Some(one) = &result.single {
        let distribution = Some([one.min, one.p10, one.p50, one.p90, one.p99, one.mean]);
        lines.push(Line { value: None, distribution, ..Line::of("single crossings", "ns", 0.0) });
    }
    for phase in &result.phases {
        lines.extend(phase.ns.iter().map(|e| Line::phase(&phase.name, "ns", e)));
        lines.extend(phase.cycles.iter().map(|e| Line::phase(&phase.name, "cycles", e)));
        let part = format!("phase: {}", phase.name);
        lines.extend(phase.instructions.map(|n| Line::of(&part, "instructions", n)));
    }
    let counted = [("counter", &result.counters), ("proof", &result.proof)];
    for (kind, counts) in counted {
        lines.extend(counts.iter().map(|(key, &n)| Line::of(&format!("{kind}: {key}"), "count", n)));
    }
    lines
}

fn record(run: &Run, row: &ExportRow<'_>, line: &Line) -> Vec<String> {
    let result = row.result;
    let figure = |x: Option<f64>| x.map(number).unwrap_or_default();
    let mut fields = vec![
        text(&run.id),
        text(&run.started),
        text(&run.host.name),
        text(&run.host.cpu.model),
        text(&run.host.kernel.release),
        text(&run.tool.version),
        text(&row.name),
        text(&result.probe),
        text(&Value::from(result.asked.fields()).to_string()),
        text(&Value::from(result.found.fields()).to_string()),
        text(&result.engine),
        text(row.status().split(':').next().unwrap_or_default()),
        text(result.reason.as_deref().unwrap_or_default()),
        words::per(result.per).into(),
        text(&line.part),
        text(&line.unit),
        figure(line.value),
        figure(line.interval.map(|[low, _]| low)),
        figure(line.interval.map(|[_, high]| high)),
    ];
    match line.distribution {
        Some(quantiles) => fields.extend(quantiles.map(number)),
        None => fields.extend(std::iter::repeat_n(String::new(), 6)),
    }
    fields.extend([result.samples.to_string(), result.crossings.to_string(), text(&row.warnings())]);
    fields
}

/// A string that no spreadsheet takes for a formula: one that begins with `=`, `+`, `-` or `@` gets an
/// apostrophe before it, which spreadsheets take for "this is text". Quotes, commas and line breaks are the
/// writer's business; control characters do not get that far.
fn text(text: &str) -> String {
    let text = printable(text);
    // A blank before it does not keep a spreadsheet from seeing a formula.
    if text.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']) {
        return format!("'{text}");
    }
    text.into_owned()
}
