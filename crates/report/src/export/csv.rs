//! Comma-separated values, for spreadsheets and data frames: one line for each figure.

use super::rows::{ExportError, ExportFigure, ExportRow, Exported, number};
use serde_json::Value;
use tollgate_record::text::printable;
use tollgate_record::{Run, Status};

const HEAD: &str = "run,started,host,cpu,kernel,tool,name,probe,asked,found,engine,status,reason,per,part,unit,\
                    estimate,ci_low,ci_high,min,p10,p50,p90,p99,mean,samples,crossings,warnings";

pub(super) fn write(run: &Run, rows: &[ExportRow<'_>]) -> Result<Exported, ExportError> {
    let unwritable = |error: Box<dyn std::error::Error>| ExportError::Unwritable("csv", error.to_string());
    lines(run, rows).map(Exported::from).map_err(unwritable)
}

fn lines(run: &Run, rows: &[ExportRow<'_>]) -> Result<String, Box<dyn std::error::Error>> {
    let mut lines = csv::Writer::from_writer(Vec::new());
    lines.write_record(HEAD.split(','))?;
    for row in rows {
        for line in parts(row) {
            lines.write_record(record(run, row, line))?;
        }
    }
    Ok(String::from_utf8(lines.into_inner()?)?)
}

struct Line {
    /// Empty for the whole, `phase: entry`, `counter: cache-misses`, `proof: ...`, `single crossings`.
    part: String,
    unit: &'static str,
    /// Estimate, the ends of its interval; min, p10, p50, p90, p99, mean.
    figures: [Option<f64>; 9],
}

impl Line {
    fn of(part: String, figure: ExportFigure) -> Self {
        let mut figures = [None; 9];
        if let Some(e) = figure.samples {
            let all = [0.0, e.ci[0], e.ci[1], e.min, e.p10, e.p50, e.p90, e.p99, e.mean];
            figures = all.map(|figure| Some(figure).filter(|it| it.is_finite()));
        }
        figures[0] = Some(figure.value);
        Self { part, unit: figure.unit.name(), figures }
    }
}

/// Every figure of a row; one line without a figure for a row that has none.
fn parts(row: &ExportRow<'_>) -> Vec<Line> {
    let result = row.result;
    let mut lines: Vec<Line> =
        row.figures().into_iter().map(|figure| Line::of(String::new(), figure)).collect();
    if lines.is_empty() {
        lines.push(Line { part: String::new(), unit: "", figures: [None; 9] });
    }
    if result.status != Status::Measured {
        return lines;
    }
    if let Some(it) = &result.single {
        let [min, p10, p50, p90, p99, mean] = [it.min, it.p10, it.p50, it.p90, it.p99, it.mean].map(Some);
        let figures = [None, None, None, min, p10, p50, p90, p99, mean];
        lines.push(Line { part: "single crossings".into(), unit: "ns", figures });
    }
    for phase in &result.phases {
        let part = format!("phase: {}", phase.name);
        lines.extend(ExportFigure::of_phase(phase).map(|figure| Line::of(part.clone(), figure)));
    }
    lines.extend(row.counts().map(|(kind, key, n)| {
        let mut figures = [None; 9];
        figures[0] = Some(n);
        Line { part: format!("{kind}: {key}"), unit: "count", figures }
    }));
    lines
}

fn record(run: &Run, row: &ExportRow<'_>, line: Line) -> Vec<String> {
    let (result, host) = (row.result, &run.host);
    let status = row.status();
    let [asked, found] = [result.asked.fields(), result.found.fields()].map(|it| Value::from(it).to_string());
    let of_run =
        [&run.id, &run.started, &host.name, &host.cpu.model, &host.kernel.release, &run.tool.version];
    let of_row = [
        &row.name,
        &result.probe,
        &asked,
        &found,
        &result.engine,
        status.split(':').next().unwrap_or_default(),
        result.reason.as_deref().unwrap_or_default(),
        result.per.word(),
        &line.part,
        line.unit,
    ];
    let mut fields: Vec<String> = of_run.into_iter().map(String::as_str).chain(of_row).map(text).collect();
    fields.extend(line.figures.map(|figure| figure.map(number).unwrap_or_default()));
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
