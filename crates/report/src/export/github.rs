//! The JSON that github-action-benchmark takes as `customSmallerIsBetter`.

use super::format::{ExportError, Exported, Format, json, number};
use super::rows::{ExportFigure, ExportRow};
use crate::words;
use serde_json::{Value, json};
use tollgate_record::Run;
use tollgate_record::text::printable;

pub(super) const FORMAT: Format = Format {
    name: "github-action-benchmark",
    what: "the GitHub action of that name (tool: customSmallerIsBetter)",
    extension: "json",
    write,
};

fn write(run: &Run, rows: &[ExportRow<'_>]) -> Result<Exported, ExportError> {
    let entries: Vec<Value> = rows
        .iter()
        // One line in its chart for each name: the headline.
        .filter_map(|row| row.figures().first().map(|figure| entry(run, row, figure)))
        .collect();
    Ok(Exported { text: json(&entries.into()), left_out: Vec::new() })
}

fn entry(run: &Run, row: &ExportRow<'_>, figure: &ExportFigure) -> Value {
    let result = row.result;
    let mut extra = format!("engine {}", printable(&result.engine));
    for (what, text) in [
        ("", row.params()),
        ("warnings: ", row.warnings()),
        ("cpu: ", printable(&run.host.cpu.model).into_owned()),
        ("kernel: ", printable(&run.host.kernel.release).into_owned()),
        ("run: ", printable(&run.id).into_owned()),
    ] {
        if !text.is_empty() {
            extra.push_str(&format!("\n{what}{text}"));
        }
    }
    let mut entry = json!({
        "name": row.name,
        "unit": format!("{}/{}", figure.unit.name(), words::per(result.per)),
        "value": figure.value,
        "extra": extra,
    });
    if let Some([low, high]) = figure.interval {
        entry["range"] = format!("{} to {}", number(low), number(high)).into();
    }
    entry
}
