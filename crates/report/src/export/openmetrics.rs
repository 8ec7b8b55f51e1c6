//! OpenMetrics text, for Prometheus and its relatives. Times are in seconds, as these want them.

use super::format::{ExportError, Exported, Format, number};
use super::rows::{ExportRow, Unit, shown};
use crate::words;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use tollgate_record::text::printable;
use tollgate_record::{Estimate, Run, Status};

pub(super) const FORMAT: Format =
    Format { name: "openmetrics", what: "Prometheus and others (OpenMetrics text)", extension: "txt", write };

/// The samples of one family: name and value, in the order of the rows.
#[derive(Default)]
struct Family {
    unit: &'static str,
    help: String,
    lines: Vec<String>,
}

/// Every family, in the order of its name.
#[derive(Default)]
struct Families(BTreeMap<String, Family>);

impl Families {
    /// Adds a sample to `tollgate_<name>`, whose name ends in the unit where it has one.
    fn add(&mut self, name: &str, unit: &'static str, help: &str, labels: &Labels, value: f64) {
        let name =
            if unit.is_empty() { format!("tollgate_{name}") } else { format!("tollgate_{name}_{unit}") };
        let line = format!("{name}{labels} {}", number(value));
        let family = self.0.entry(name).or_default();
        family.unit = unit;
        if family.help.is_empty() {
            family.help = help.to_owned();
        }
        family.lines.push(line);
    }
}

/// The labels of a sample.
#[derive(Clone, Default)]
struct Labels(BTreeMap<String, String>);

impl Labels {
    fn with(&self, name: &str, value: &str) -> Self {
        let mut more = self.clone();
        more.0.insert(name.into(), printable(value).into_owned());
        more
    }
}

impl std::fmt::Display for Labels {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_char('{')?;
        for (place, (name, value)) in self.0.iter().enumerate() {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            write!(out, "{}{name}=\"{value}\"", if place > 0 { "," } else { "" })?;
        }
        out.write_char('}')
    }
}

fn write(run: &Run, rows: &[ExportRow<'_>]) -> Result<Exported, ExportError> {
    let mut families = Families::default();
    for row in rows {
        add(&mut families, row);
    }
    let info = [
        ("run", run.id.as_str()),
        ("started", &run.started),
        ("host", &run.host.name),
        ("arch", &run.host.arch),
        ("cpu", &run.host.cpu.model),
        ("kernel", &run.host.kernel.release),
        ("version", &run.tool.version),
        ("commit", &run.tool.commit),
    ];
    let info = info.iter().fold(Labels::default(), |labels, (name, value)| labels.with(name, value));
    let info = info.with("seed", &run.seed.to_string()).with("complete", &run.complete.to_string());
    let mut text = String::from("# TYPE tollgate_run info\n# HELP tollgate_run The run and its host.\n");
    text.push_str(&format!("tollgate_run_info{info} 1\n"));
    for (name, family) in &families.0 {
        text.push_str(&format!("# TYPE {name} gauge\n"));
        if !family.unit.is_empty() {
            text.push_str(&format!("# UNIT {name} {}\n", family.unit));
        }
        text.push_str(&format!("# HELP {name} {}\n", family.help));
        for line in &family.lines {
            text.push_str(line);
            text.push('\n');
        }
    }
    text.push_str("# EOF\n");
    Ok(Exported { text, left_out: Vec::new() })
}

/// A figure in the unit that the format wants: seconds for nanoseconds.
fn scaled(unit: Unit) -> (&'static str, f64) {
    match unit {
        Unit::Nanoseconds => ("seconds", 1e-9),
        other => (other.name(), 1.0),
    }
}

fn add(families: &mut Families, row: &ExportRow<'_>) {
    let result = row.result;
    // The name is the row's own, so no two samples of a family are the same.
    let mut labels = Labels::default()
        .with("name", &row.name)
        .with("probe", &result.probe)
        .with("engine", &result.engine)
        .with("per", words::per(result.per));
    let mut taken = BTreeSet::new();
    for (key, value) in row.facts() {
        let mut name = format!("param_{}", label(&key));
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        labels = labels.with(&name, &shown(&value));
    }
    let status = labels.with("status", &row.status());
    let measured = f64::from(u8::from(result.status == Status::Measured));
    families.add(
        "probe_measured",
        "",
        "1 where there is a figure; the label says why not.",
        &status,
        measured,
    );
    for figure in row.figures() {
        let (unit, factor) = scaled(figure.unit);
        families.add("crossing", unit, "What one crossing costs.", &labels, figure.value * factor);
        if let Some([low, high]) = figure.interval {
            let help = "The 95 % confidence interval of what one crossing costs.";
            families.add("crossing_ci_low", unit, help, &labels, low * factor);
            families.add("crossing_ci_high", unit, help, &labels, high * factor);
        }
        if let Some(e) = figure.samples {
            quantiles(families, "crossing_quantile", unit, &labels, &e, factor);
        }
    }
    if result.status != Status::Measured {
        return;
    }
    if let Some(one) = &result.single {
        let help = "Crossings timed one at a time: the quantiles of their durations.";
        for (quantile, value) in [("0.1", one.p10), ("0.5", one.p50), ("0.9", one.p90), ("0.99", one.p99)] {
            let labels = labels.with("quantile", quantile);
            families.add("single_quantile", "seconds", help, &labels, value * 1e-9);
        }
    }
    let mut seen = BTreeSet::new();
    for phase in result.phases.iter().filter(|phase| seen.insert(printable(&phase.name))) {
        let labels = labels.with("phase", &phase.name);
        for (unit, estimate) in [(Unit::Nanoseconds, &phase.ns), (Unit::Cycles, &phase.cycles)] {
            let (unit, factor) = scaled(unit);
            if let Some(e) = estimate {
                families.add(
                    "phase",
                    unit,
                    "A part of what one crossing costs.",
                    &labels,
                    e.estimate * factor,
                );
            }
        }
        if let Some(n) = phase.instructions {
            families.add("phase", "instructions", "A part of what one crossing costs.", &labels, n);
        }
    }
    for (kind, help, counts) in [
        ("counter", "Events for each crossing.", &result.counters),
        ("proof", "Counts that show that the crossing happened.", &result.proof),
    ] {
        let mut seen = BTreeSet::new();
        for (key, &value) in counts.iter().filter(|(key, _)| seen.insert(printable(key))) {
            families.add(kind, "", help, &labels.with(kind, key), value);
        }
    }
}

fn quantiles(
    families: &mut Families,
    name: &str,
    unit: &'static str,
    labels: &Labels,
    e: &Estimate,
    factor: f64,
) {
    let help = "Quantiles of the samples, each the mean of one batch of crossings.";
    for (quantile, value) in [("0", e.min), ("0.1", e.p10), ("0.5", e.p50), ("0.9", e.p90), ("0.99", e.p99)] {
        families.add(name, unit, help, &labels.with("quantile", quantile), value * factor);
    }
}

/// A key as the name of a label: letters, digits and underscores.
fn label(key: &str) -> String {
    key.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
