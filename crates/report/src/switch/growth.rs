//! Curves over the number of tasks: cost and memory, and where tasks stop being cheap.

use super::row::short;
use crate::chart::Unit;
use crate::plot::{Curve, Plot, SIGNED};
use crate::sheet::{Sheet, plotted, prose};
use crate::style::Style;
use tollgate_record::number::{count, fit};
use tollgate_record::{Measurement, Series};

/// A switch that costs this much more than the cheapest one before it is a knee.
const KNEE: f64 = 2.0;

/// What is drawn of each mechanism, with its name.
type Curves<'a> = Vec<(String, &'a Series)>;

/// The plots of cost and of memory, and a line for each knee.
pub(super) fn plots(results: &[Measurement], style: &Style) -> Sheet {
    let curves = |name: &str| -> Curves<'_> {
        let of = |result| {
            let result: &Measurement = result;
            result.series.iter().map(move |series| (short(result, style), series))
        };
        results.iter().flat_map(of).filter(|(_, series)| series.name == name).take(SIGNED).collect()
    };
    let cost = curves("cost");
    let mut lines = plot("ns for each switch, over the number of tasks", &cost, Unit::Nanoseconds);
    if lines.is_empty() {
        return lines;
    }
    for (name, series) in &cost {
        lines.extend(prose(knee(name, series), "  "));
    }
    lines.extend(plot(
        "Resident bytes for each task, over the number of tasks",
        &curves("memory"),
        Unit::Bytes,
    ));
    lines
}

/// Where a switch begins to cost twice what it cost at its cheapest before.
fn knee(name: &str, series: &Series) -> String {
    let mut cheapest = f64::INFINITY;
    for &[tasks, ns] in &series.points {
        if ns > KNEE * cheapest {
            let (tasks, ns, cheap) = (count(tasks as usize), fit(ns, 8), fit(cheapest, 8));
            return format!("{name}: at {tasks} tasks {ns} ns, more than twice the {cheap} ns of fewer");
        }
        cheapest = cheapest.min(ns);
    }
    let last = series.points.last().map_or(0.0, |point| point[0]);
    format!("{name}: no knee up to {} tasks", count(last as usize))
}

/// Nothing for fewer than three numbers of tasks.
fn plot(title: &'static str, curves: &Curves<'_>, unit: Unit) -> Sheet {
    if curves.iter().all(|(_, series)| series.points.len() < 3) {
        return Sheet::new();
    }
    let curves = curves.iter().map(|(name, series)| Curve {
        run: 0,
        name: name.clone(),
        points: series.points.clone(),
    });
    let units = [Unit::Other("tasks".into()), unit];
    plotted(Plot { title, of: "", curves: curves.collect(), marks: None, units })
}
