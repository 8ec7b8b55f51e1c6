//! Figures that are not finite.
//!
//! JSON has no NaN and no infinity, and a `null` in their place could not be read back. A run is
//! worth more than its worst figure, so it is not refused: what is not finite is left out, and the
//! measurement (or the run) says so in a warning of the code `not-finite`. A measurement that loses
//! its last figure that way has failed.

use crate::vocabulary::warning::NOT_FINITE;
use crate::{
    Estimate, Found, Host, Measurement, PairedFigure, Regression, Run, Single, Status, TypicalFigure, Warning,
};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

impl Run {
    /// The same run without figures that are NaN or infinite; what was left out is in the warnings.
    #[must_use]
    pub fn without_non_finite(&self) -> Cow<'_, Self> {
        let mut run = self.clone();
        let mut lost = false;
        let host = clean_host(&mut run.host);
        if !host.is_empty() {
            run.warnings.push(warning(&host));
            lost = true;
        }
        let mut of_work = Vec::new();
        for yardstick in &mut run.yardsticks {
            for epoch in &mut yardstick.epochs {
                clean(epoch, &yardstick.name, &mut of_work, |ns| ns.is_finite());
            }
        }
        if !of_work.is_empty() {
            of_work.dedup();
            run.warnings.push(warning(&of_work));
            lost = true;
        }
        for measurement in &mut run.results {
            lost |= clean_measurement(measurement);
        }
        if lost { Cow::Owned(run) } else { Cow::Borrowed(self) }
    }
}

fn warning(lost: &[String]) -> Warning {
    let are =
        if lost.len() == 1 { "is not a finite number and was" } else { "are not finite numbers and were" };
    Warning::new(NOT_FINITE, format!("{} {are} left out", lost.join(", ")))
}

fn clean_host(host: &mut Host) -> Vec<String> {
    let mut lost = Vec::new();
    clean(&mut host.cpu.core_hz_before, "core_hz_before", &mut lost, |hz| hz.is_finite());
    clean(&mut host.cpu.core_hz_after, "core_hz_after", &mut lost, |hz| hz.is_finite());
    clean(&mut host.clock.nominal_hz, "nominal_hz", &mut lost, |hz| hz.is_finite());
    clean(&mut host.cgroup.cpu_max, "cpu_max", &mut lost, |max| max.is_finite());
    // These two cannot be absent; zero is what a host that knows neither says.
    for (value, name) in [(&mut host.clock.hz, "clock.hz"), (&mut host.clock.pair_ticks, "clock.pair_ticks")]
    {
        if !value.is_finite() {
            *value = 0.0;
            lost.push(name.into());
        }
    }
    lost
}

fn clean_measurement(measurement: &mut Measurement) -> bool {
    let mut lost = Vec::new();
    for (figure, name) in
        [(&mut measurement.ns, "ns"), (&mut measurement.cycles, "cycles"), (&mut measurement.ticks, "ticks")]
    {
        clean(figure, name, &mut lost, estimate_is_finite);
    }
    clean(&mut measurement.single, "single", &mut lost, single_is_finite);
    clean(&mut measurement.relative, "relative", &mut lost, |it| {
        [it.ratio, it.ci[0], it.ci[1], it.slope, it.slope_error, it.left]
            .iter()
            .all(|value| value.is_finite())
    });
    clean(&mut measurement.regression, "regression", &mut lost, Regression::is_finite);
    for phase in &mut measurement.phases {
        let name = format!("phase {}", phase.name);
        clean(&mut phase.ns, &format!("{name} (ns)"), &mut lost, estimate_is_finite);
        clean(&mut phase.cycles, &format!("{name} (cycles)"), &mut lost, estimate_is_finite);
        clean(&mut phase.instructions, &format!("{name} (instructions)"), &mut lost, |n| n.is_finite());
        clean_map(&mut phase.causes, &name, &mut lost);
    }
    for series in &mut measurement.series {
        let before = series.points.len();
        series.points.retain(|point| point.iter().all(|x| x.is_finite()));
        if series.points.len() < before {
            lost.push(format!("points of {}", series.name));
        }
    }
    clean_map(&mut measurement.proof, "proof", &mut lost);
    clean_map(&mut measurement.instrumented_ns, "instrumented_ns", &mut lost);
    clean_found(&mut measurement.found, &mut lost);
    let before = measurement.epochs.len();
    measurement.epochs.retain(|epoch| epoch.ns.is_finite() && epoch.core_hz.is_none_or(f64::is_finite));
    if measurement.epochs.len() < before {
        lost.push("epochs".into());
    }
    for epoch in &mut measurement.epochs {
        let is_finite = |it: &PairedFigure| it.ratio.is_finite() && it.spread.is_finite();
        clean(&mut epoch.paired, "paired", &mut lost, is_finite);
        clean(&mut epoch.typical, "typical", &mut lost, TypicalFigure::is_finite);
    }
    clean_map(&mut measurement.counters, "counter", &mut lost);
    if lost.is_empty() {
        return false;
    }
    measurement.warnings.push(warning(&lost));
    let figures = [&measurement.ns, &measurement.cycles, &measurement.ticks];
    if measurement.status == Status::Measured && figures.iter().all(|figure| figure.is_none()) {
        measurement.status = Status::Failed;
        measurement.reason = Some("the measured figure is not a finite number".into());
    }
    true
}

fn clean<T>(value: &mut Option<T>, name: &str, lost: &mut Vec<String>, is_finite: impl Fn(&T) -> bool) {
    if value.as_ref().is_some_and(|value| !is_finite(value)) {
        *value = None;
        lost.push(name.into());
    }
}

fn clean_map(map: &mut BTreeMap<String, f64>, kind: &str, lost: &mut Vec<String>) {
    map.retain(|key, value| {
        if !value.is_finite() {
            lost.push(format!("{kind} {key}"));
        }
        value.is_finite()
    });
}

/// JSON writes what is not finite as `null`; what was found is left out where it is that.
fn clean_found(found: &mut Found, lost: &mut Vec<String>) {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(&*found) else { return };
    let is_null = |value: &Value| match value {
        Value::Object(inner) => inner.values().any(Value::is_null),
        value => value.is_null(),
    };
    let names: Vec<String> =
        fields.iter().filter(|(_, value)| is_null(value)).map(|(key, _)| key.clone()).collect();
    if names.is_empty() {
        return;
    }
    for name in &names {
        fields.remove(name);
    }
    // A field that every result of the family has takes the others with it.
    *found = serde_json::from_value(Value::Object(fields)).unwrap_or_default();
    lost.extend(names);
}

fn estimate_is_finite(e: &Estimate) -> bool {
    let has_interval = e.is_measured() || e.ci == Estimate::unmeasured(e.estimate).ci;
    has_interval && [e.estimate, e.min, e.p10, e.p50, e.p90, e.p99, e.mean].iter().all(|x| x.is_finite())
}

fn single_is_finite(s: &Single) -> bool {
    [s.pair_overhead_ns, s.pair_overhead_error_ns, s.min, s.p10, s.p50, s.p90, s.p99, s.max, s.mean]
        .iter()
        .all(|x| x.is_finite())
}
