//! Bencher Metric Format (JSON), for `bencher run --adapter json`.

use super::format::{ExportError, Exported, Format, json};
use super::rows::{ExportRow, Unit};
use serde_json::{Map, Value, json};
use tollgate_record::Run;

pub(super) const FORMAT: Format =
    Format { name: "bencher", what: "Bencher (Bencher Metric Format)", extension: "json", write };

fn write(_: &Run, rows: &[ExportRow<'_>]) -> Result<Exported, ExportError> {
    let mut benchmarks = Map::new();
    for row in rows {
        let figures = row.figures();
        if figures.is_empty() {
            continue;
        }
        let measures: Map<String, Value> = figures
            .iter()
            .map(|figure| {
                let mut metric = json!({ "value": figure.value });
                if let Some([low, high]) = figure.interval {
                    metric["lower_value"] = low.into();
                    metric["upper_value"] = high.into();
                }
                (measure(figure.unit).to_owned(), metric)
            })
            .collect();
        benchmarks.insert(row.name.clone(), measures.into());
    }
    Ok(Exported { text: json(&benchmarks.into()), left_out: Vec::new() })
}

/// `latency` is the service's own measure, in nanoseconds; it makes the others when it first sees them.
fn measure(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "latency",
        other => other.name(),
    }
}
