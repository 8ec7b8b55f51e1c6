//! The JSON of google-benchmark, for its `tools/compare.py` and whatever else reads it.
//!
//! This format can write a row without a time only as a time of zero, so such rows are in
//! `context.tollgate.rows_without_a_time`, each with the reason.

use super::rows::{ExportError, ExportRow, Exported, Unit, json, shown};
use serde_json::{Value, json};
use tollgate_record::Run;
use tollgate_record::text::printable;

pub(super) fn write(run: &Run, rows: &[ExportRow<'_>]) -> Result<Exported, ExportError> {
    let (mut benchmarks, mut without, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    for (family, row) in (0..).zip(rows.iter().filter(|row| row.time().is_some())) {
        benchmarks.extend(benchmark(row, family));
    }
    for row in rows.iter().filter(|row| row.time().is_none()) {
        let out = row.left_out("it has no time, and this format holds times only");
        let why = out.as_ref().map_or_else(|| row.status(), |(_, why)| why.clone());
        without.push(json!({ "name": row.name, "reason": why }));
        left_out.extend(out);
    }
    let text = json(&json!({ "context": context(run, without), "benchmarks": benchmarks }));
    Ok(Exported::new(text, left_out))
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
fn benchmark(row: &ExportRow<'_>, family: usize) -> Vec<Value> {
    let Some(time) = row.time() else { return Vec::new() };
    let epochs = row.epochs();
    let common = |name: &str, ns: f64, iterations: u64| {
        json!({
            "name": name, "run_name": row.name, "family_index": family, "per_family_instance_index": 0,
            "repetitions": epochs.len().max(1), "threads": 1, "iterations": iterations, "real_time": ns,
            // The readers want both. The record has no processor time, and the tasks of a probe keep their CPU busy.
            "cpu_time": ns, "time_unit": "ns",
        })
    };
    let repetition = |index: usize, ns: f64, iterations: u64| {
        let mut fields = common(&row.name, ns, iterations);
        fields["run_type"] = "iteration".into();
        fields["repetition_index"] = index.into();
        fields
    };
    let each = row.result.crossings / epochs.len().max(1) as u64;
    let mut benchmarks: Vec<Value> =
        epochs.iter().enumerate().map(|(index, epoch)| repetition(index, epoch.ns, each)).collect();
    let mut whole = if epochs.is_empty() {
        repetition(0, time.value, row.result.crossings)
    } else {
        let mut whole = common(&format!("{}_median", row.name), time.value, epochs.len() as u64);
        whole["run_type"] = "aggregate".into();
        whole["aggregate_name"] = "median".into();
        whole["aggregate_unit"] = "time".into();
        whole
    };
    describe(row, &mut whole);
    benchmarks.push(whole);
    benchmarks
}

/// Adds all that the record says of the whole row.
fn describe(row: &ExportRow<'_>, fields: &mut Value) {
    let result = row.result;
    let label = format!("per {}; {} {}", result.per.word(), printable(&result.engine), row.params());
    fields["label"] = label.trim_end().into();
    if let Some(e) = row.time().and_then(|time| time.samples) {
        let ends = [("ci_low", e.ci[0]), ("ci_high", e.ci[1])].into_iter().filter(|_| e.is_measured());
        let quantiles = [("min", e.min), ("p10", e.p10), ("p50", e.p50), ("p90", e.p90), ("p99", e.p99)];
        ends.chain(quantiles).for_each(|(key, value)| fields[key] = value.into());
    }
    for figure in row.figures().iter().filter(|figure| figure.unit != Unit::Nanoseconds) {
        fields[figure.unit.name()] = figure.value.into();
    }
    // The prefix keeps a counter from being taken for a field of the format.
    for (kind, key, value) in row.counts() {
        fields[format!("{kind}:{}", printable(key))] = value.into();
    }
    for (key, value) in row.facts() {
        fields[format!("param:{}", printable(&key))] = shown(&value).into();
    }
    let warnings = row.warnings();
    if !warnings.is_empty() {
        fields["warnings"] = warnings.into();
    }
}
