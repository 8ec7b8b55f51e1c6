//! Bencher Metric Format (JSON), for `bencher run --adapter json`.

use super::rows::{ExportError, ExportFigure, ExportRow, Exported, Unit, json};
use serde_json::{Map, Value, json};
use tollgate_record::Run;

pub(super) fn write(_: &Run, rows: &[ExportRow<'_>]) -> Result<Exported, ExportError> {
    let mut benchmarks = Map::new();
    for row in rows {
        let measures: Map<String, Value> = row.figures().iter().map(metric).collect();
        if !measures.is_empty() {
            benchmarks.insert(row.name.clone(), measures.into());
        }
    }
    Ok(json(&benchmarks.into()).into())
}

fn metric(figure: &ExportFigure) -> (String, Value) {
    // `latency` is the service's own measure, in nanoseconds; it makes the others when it first sees them.
    let measure = if figure.unit == Unit::Nanoseconds { "latency" } else { figure.unit.name() };
    let mut metric = json!({ "value": figure.value });
    if let Some([low, high]) = figure.interval() {
        metric["lower_value"] = low.into();
        metric["upper_value"] = high.into();
    }
    (measure.into(), metric)
}
