//! The JSON that github-action-benchmark takes as `customSmallerIsBetter`.

use super::rows::{ExportError, ExportRow, Exported, json, number};
use serde_json::{Value, json};
use tollgate_record::Run;
use tollgate_record::text::printable;

pub(super) fn write(run: &Run, rows: &[ExportRow<'_>]) -> Result<Exported, ExportError> {
    let entries: Vec<Value> = rows.iter().filter_map(|row| entry(run, row)).collect();
    Ok(json(&entries.into()).into())
}

/// One line in its chart for each name: the headline.
fn entry(run: &Run, row: &ExportRow<'_>) -> Option<Value> {
    let figures = row.figures();
    let figure = figures.first()?;
    let mut extra = format!("engine {}", printable(&row.result.engine));
    for (what, text) in [
        ("", row.params().as_str()),
        ("warnings: ", &row.warnings()),
        ("cpu: ", &printable(&run.host.cpu.model)),
        ("kernel: ", &printable(&run.host.kernel.release)),
        ("run: ", &printable(&run.id)),
    ] {
        if !text.is_empty() {
            extra.push_str(&format!("\n{what}{text}"));
        }
    }
    let unit = format!("{}/{}", figure.unit.name(), row.result.per.word());
    let mut entry = json!({ "name": row.name, "unit": unit, "value": figure.value, "extra": extra });
    if let Some([low, high]) = figure.interval() {
        entry["range"] = format!("{} to {}", number(low), number(high)).into();
    }
    Some(entry)
}
