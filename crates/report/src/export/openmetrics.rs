//! OpenMetrics text, for Prometheus and its relatives. Times are in seconds, as these want them.

use super::rows::{ExportError, ExportFigure, ExportRow, Exported, Unit, number, shown};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use tollgate_record::text::printable;
use tollgate_record::{Run, Status};

/// The samples of one family in the order of the rows.
#[derive(Default)]
struct Family {
    unit: &'static str,
    help: &'static str,
    lines: String,
}

/// Every family, in the order of its name.
#[derive(Default)]
struct Families(BTreeMap<String, Family>);

impl Families {
    /// Adds a sample to `tollgate_<name>`, whose name ends in the unit where it has one.
    fn add(&mut self, name: &str, unit: &'static str, help: &'static str, labels: &Labels, value: f64) {
        let name =
            if unit.is_empty() { format!("tollgate_{name}") } else { format!("tollgate_{name}_{unit}") };
        let line = format!("{name}{labels} {}\n", number(value));
        let family = self.0.entry(name).or_default();
        (family.unit, family.help) = (unit, help);
        family.lines.push_str(&line);
    }
}

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

pub(super) fn write(run: &Run, rows: &[ExportRow<'_>]) -> Result<Exported, ExportError> {
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
        ("seed", &run.seed.to_string()),
        ("complete", &run.complete.to_string()),
    ];
    let info = info.iter().fold(Labels::default(), |labels, (name, value)| labels.with(name, value));
    let mut text = format!(
        "# TYPE tollgate_run info\n# HELP tollgate_run The run and its host.\ntollgate_run_info{info} 1\n"
    );
    for (name, family) in &families.0 {
        text.push_str(&format!("# TYPE {name} gauge\n"));
        if !family.unit.is_empty() {
            text.push_str(&format!("# UNIT {name} {}\n", family.unit));
        }
        text.push_str(&format!("# HELP {name} {}\n{}", family.help, family.lines));
    }
    text.push_str("# EOF\n");
    Ok(text.into())
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
        .with("per", result.per.word());
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
    let help = "1 where there is a figure; the label says why not.";
    families.add("probe_measured", "", help, &status, measured);
    for figure in row.figures() {
        let (unit, factor) = scaled(figure.unit);
        families.add("crossing", unit, "What one crossing costs.", &labels, figure.value * factor);
        let Some(e) = figure.samples else { continue };
        if e.is_measured() {
            let help = "The 95 % confidence interval of what one crossing costs.";
            families.add("crossing_ci_low", unit, help, &labels, e.ci[0] * factor);
            families.add("crossing_ci_high", unit, help, &labels, e.ci[1] * factor);
        }
        let help = "Quantiles of the samples, each the mean of one batch of crossings.";
        let quantiles = [("0", e.min), ("0.1", e.p10), ("0.5", e.p50), ("0.9", e.p90), ("0.99", e.p99)];
        for (quantile, value) in quantiles {
            let labels = labels.with("quantile", quantile);
            families.add("crossing_quantile", unit, help, &labels, value * factor);
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
        for figure in ExportFigure::of_phase(phase) {
            let (unit, factor) = scaled(figure.unit);
            let help = "A part of what one crossing costs.";
            families.add("phase", unit, help, &labels, figure.value * factor);
        }
    }
    let mut seen = BTreeSet::new();
    for (kind, key, value) in row.counts().filter(|(kind, key, _)| seen.insert((*kind, printable(key)))) {
        let help = match kind {
            "proof" => "Counts that show that the crossing happened.",
            _ => "Events for each crossing.",
        };
        families.add(kind, "", help, &labels.with(kind, key), value);
    }
}

/// A key as the name of a label: letters, digits and underscores.
fn label(key: &str) -> String {
    key.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
