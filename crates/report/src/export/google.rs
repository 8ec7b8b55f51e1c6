//! The JSON of google-benchmark, for its `tools/compare.py` and whatever else reads it.
//!
//! This format can write a row without a time only as a time of zero, so such rows are in
//! `context.tollgate.rows_without_a_time`, each with the reason.

use super::format::{ExportError, Exported, Format, json};
use super::rows::{ExportRow, Unit, shown};
use crate::words;
use serde_json::{Map, Value, json};
use tollgate_record::text::printable;
use tollgate_record::{EpochFigure, Run};

pub(super) const FORMAT: Format = Format {
    name: "google-benchmark",
    what: "google-benchmark's compare.py (JSON)",
    extension: "json",
    write,
};

fn write(run: &Run, rows: &[ExportRow<'_>]) -> Result<Exported, ExportError> {
    let (mut benchmarks, mut without, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    let mut family = 0;
    for row in rows {
        match benchmark(row, family) {
            Some(benchmark) => {
                family += 1;
                benchmarks.extend(benchmark);
            }
            None => {
                let out = row.left_out("it has no time, and this format holds times only");
                let why = out.as_ref().map_or_else(|| row.status(), |(_, why)| why.clone());
                without.push(json!({ "name": row.name, "reason": why }));
                left_out.extend(out);
            }
        }
    }
    let text = json(&json!({ "context": context(run, without), "benchmarks": benchmarks }));
    Ok(Exported { text, left_out })
}

fn context(run: &Run, without: Vec<Value>) -> Value {
    let cpu = &run.host.cpu;
    let caches: Vec<Value> = run
        .host
        .caches
        .iter()
        .map(|cache| {
            json!({
                "type": printable(&cache.kind), "level": cache.level, "size": cache.bytes,
                "num_sharing": cache.shared_by.len(),
            })
        })
        .collect();
    let mut context = json!({
        "date": printable(&run.started), "host_name": printable(&run.host.name), "executable": "tollgate",
        "caches": caches, "load_avg": [], "library_build_type": "release", "json_schema_version": 1,
        "tollgate": {
            "run": printable(&run.id), "version": printable(&run.tool.version), "commit": printable(&run.tool.commit),
            "cpu": printable(&cpu.model), "kernel": printable(&run.host.kernel.release), "seed": run.seed,
            "complete": run.complete, "rows_without_a_time": without,
        },
    });
    if !cpu.online.is_empty() {
        context["num_cpus"] = cpu.online.len().into();
    }
    if let Some(hz) = cpu.core_hz_before {
        context["mhz_per_cpu"] = (hz / 1e6).into();
    }
    if let Some(governor) = &cpu.governor {
        context["cpu_scaling_enabled"] = (governor != "performance").into();
    }
    context
}

/// The row's repetitions, an epoch each, and behind them the headline as their median; a row without epochs is one
/// repetition. Nothing when it has no time.
fn benchmark(row: &ExportRow<'_>, family: usize) -> Option<Vec<Value>> {
    let time = row.time()?;
    let epochs = row.epochs();
    let common = |name: &str, ns: f64, iterations: u64| {
        let fields = json!({
            "name": name, "run_name": row.name, "family_index": family, "per_family_instance_index": 0,
            "repetitions": epochs.len().max(1), "threads": 1, "iterations": iterations, "real_time": ns,
            // The readers want both. The record has no processor time, and the tasks of a probe keep their CPU busy.
            "cpu_time": ns, "time_unit": "ns",
        });
        if let Value::Object(fields) = fields { fields } else { Map::new() }
    };
    let each = row.result.crossings / epochs.len().max(1) as u64;
    let repetition = |(index, epoch): (usize, &EpochFigure)| {
        let mut fields = common(&row.name, epoch.ns, each);
        fields.insert("run_type".into(), "iteration".into());
        fields.insert("repetition_index".into(), index.into());
        Value::from(fields)
    };
    let mut benchmarks: Vec<Value> = epochs.iter().enumerate().map(repetition).collect();
    let whole = if epochs.is_empty() {
        let mut whole = common(&row.name, time.value, row.result.crossings);
        whole.insert("run_type".into(), "iteration".into());
        whole.insert("repetition_index".into(), 0.into());
        whole
    } else {
        let mut whole = common(&format!("{}_median", row.name), time.value, epochs.len() as u64);
        for (key, value) in
            [("run_type", "aggregate"), ("aggregate_name", "median"), ("aggregate_unit", "time")]
        {
            whole.insert(key.into(), value.into());
        }
        whole
    };
    benchmarks.push(described(row, whole));
    Some(benchmarks)
}

/// With all that the record says of the whole row.
fn described(row: &ExportRow<'_>, mut fields: Map<String, Value>) -> Value {
    let result = row.result;
    let mut set = |key: &str, value: Value| drop(fields.insert(key.into(), value));
    let label = format!("per {}; {} {}", words::per(result.per), printable(&result.engine), row.params());
    set("label", label.trim_end().into());
    let time = row.time();
    if let Some([low, high]) = time.and_then(|time| time.interval) {
        set("ci_low", low.into());
        set("ci_high", high.into());
    }
    if let Some(e) = time.and_then(|time| time.samples) {
        for (key, value) in [("min", e.min), ("p10", e.p10), ("p50", e.p50), ("p90", e.p90), ("p99", e.p99)] {
            set(key, value.into());
        }
    }
    for figure in row.figures().iter().filter(|figure| figure.unit != Unit::Nanoseconds) {
        set(figure.unit.name(), figure.value.into());
    }
    // The prefix keeps a counter from being taken for a field of the format.
    for (kind, counts) in [("counter", &result.counters), ("proof", &result.proof)] {
        for (key, &value) in counts {
            set(&format!("{kind}:{}", printable(key)), value.into());
        }
    }
    for (key, value) in row.facts() {
        set(&format!("param:{}", printable(&key)), shown(&value).into());
    }
    let warnings = row.warnings();
    if !warnings.is_empty() {
        set("warnings", warnings.into());
    }
    fields.into()
}
