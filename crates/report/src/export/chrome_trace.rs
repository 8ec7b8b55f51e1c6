//! The JSON of Chrome's trace events, which Perfetto and others draw.
//!
//! Each row is a track with one crossing on it: its whole and, below, its phases one after the other. Phases of no
//! length and negative ones (a difference is signed) cannot be drawn; they are instants with the figure in their
//! arguments. Rows with cycles only are in a process of their own where a microsecond is a thousand cycles. Curves
//! over time are counters.

use super::rows::{ExportError, ExportFigure, ExportRow, Exported, Unit, json};
use serde_json::{Map, Value, json};
use tollgate_record::Run;
use tollgate_record::text::printable;

const TIMES: u32 = 1;
const COUNTS: u32 = 2;
const CURVES: u32 = 3;

pub(super) fn write(run: &Run, rows: &[ExportRow<'_>]) -> Result<Exported, ExportError> {
    let mut events: Vec<Value> = [
        (TIMES, "one crossing of each boundary"),
        (COUNTS, "simulated or counted: 1 ns stands for 1 cycle or instruction"),
        (CURVES, "curves over time"),
    ]
    .map(|(process, name)| named("process_name", process, 0, name))
    .into();
    let mut left_out = Vec::new();
    for (track, row) in (1..).zip(rows) {
        match row.figures().first() {
            Some(figure) => crossing(&mut events, row, figure, track),
            None => left_out.extend(row.left_out("it has neither a time nor a count")),
        }
        curves(&mut events, row);
    }
    let unmeasured: Map<String, Value> = rows
        .iter()
        .filter(|row| row.figures().is_empty())
        .map(|row| (row.name.clone(), row.status().into()))
        .collect();
    let text = json(&json!({
        "displayTimeUnit": "ns",
        "otherData": {
            "tool": format!("tollgate {}", printable(&run.tool.version)), "run": printable(&run.id),
            "started": printable(&run.started), "host": printable(&run.host.name),
            "cpu": printable(&run.host.cpu.model), "kernel": printable(&run.host.kernel.release),
            "without a figure": unmeasured,
        },
        "traceEvents": events,
    }));
    Ok(Exported::new(text, left_out))
}

fn named(what: &str, process: u32, track: u32, name: &str) -> Value {
    json!({ "ph": "M", "name": what, "cat": "__metadata", "pid": process, "tid": track, "ts": 0, "args": { "name": name } })
}

fn crossing(events: &mut Vec<Value>, row: &ExportRow<'_>, figure: &ExportFigure, track: u32) {
    let process = if figure.unit == Unit::Nanoseconds { TIMES } else { COUNTS };
    events.push(named("thread_name", process, track, &row.name));
    let about = json!({
        "per": row.result.per.word(), "engine": printable(&row.result.engine), "params": row.params(),
        "warnings": row.warnings(),
    });
    events.push(slice(&row.name, (process, track), 0.0, figure, about));
    let mut at = 0.0;
    for phase in &row.result.phases {
        let Some(part) = ExportFigure::of_phase(phase).find(|part| part.unit == figure.unit) else {
            continue;
        };
        let about = json!({ "evidence": phase.evidence });
        events.push(slice(&printable(&phase.name), (process, track), at, &part, about));
        let next = at + part.value.max(0.0);
        at = if next.is_finite() { next } else { at };
    }
}

/// A figure as a stretch from `at`, both in nanoseconds or counts; as an instant when there is nothing to draw.
fn slice(name: &str, track: (u32, u32), at: f64, figure: &ExportFigure, mut args: Value) -> Value {
    args["unit"] = figure.unit.name().into();
    args["figure"] = figure.value.into();
    if let Some([low, high]) = figure.interval() {
        args["ci low"] = low.into();
        args["ci high"] = high.into();
    }
    let mut event = json!({
        "ph": "X", "name": name, "cat": "crossing", "pid": track.0, "tid": track.1, "ts": at / 1e3, "args": args,
    });
    if figure.value > 0.0 {
        event["dur"] = (figure.value / 1e3).into();
    } else {
        event["ph"] = "i".into();
        event["s"] = "t".into();
    }
    event
}

/// Microseconds in one of the units that a curve over time has.
fn micros(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-3,
        "us" | "µs" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        _ => return None,
    })
}

fn curves(events: &mut Vec<Value>, row: &ExportRow<'_>) {
    for series in &row.result.series {
        let Some(factor) = micros(&series.x_unit) else { continue };
        let name = format!("{}: {}", row.name, printable(&series.name));
        let unit = printable(&series.y_unit).into_owned();
        for [x, y] in series.points.iter().filter(|[x, _]| *x >= 0.0 && (x * factor).is_finite()) {
            events.push(json!({
                "ph": "C", "name": name, "cat": "curve", "pid": CURVES, "tid": 0, "ts": x * factor,
                "args": { &unit: y },
            }));
        }
    }
}
