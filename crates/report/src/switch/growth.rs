//! Curves over the number of tasks: cost and memory, and where tasks stop being cheap.

use crate::style::{Paint, Style};
use crate::text::{clean, wrap};
use tollgate_record::number::{count, fit, size};
use tollgate_record::{Measurement, Series};

/// Rows of a plot's field.
const ROWS: usize = 12;
/// Columns of the scale at its left.
const SCALE: usize = 9;
/// What stands for each mechanism.
const SIGNS: [char; 12] = ['o', 'x', '+', '*', '#', '@', '%', '&', 'a', 'b', 'c', 'd'];
/// A switch that costs this much more than the cheapest one before it is a knee.
const KNEE: f64 = 2.0;

struct Curve<'a> {
    name: String,
    series: &'a Series,
}

/// The plots of cost and of memory, and a line for each knee.
pub(super) fn plots(results: &[Measurement], style: &Style) -> Vec<String> {
    let curves = |name: &str| -> Vec<Curve> {
        let of = |result: &'_ Measurement| {
            result.probe.strip_prefix("switch/").unwrap_or(&result.probe).to_owned()
        };
        results
            .iter()
            .flat_map(|result| result.series.iter().map(move |series| (of(result), series)))
            .filter(|(_, series)| series.name == name)
            .map(|(name, series)| Curve { name: clean(&name, style), series })
            .take(SIGNS.len())
            .collect()
    };
    let cost = curves("cost");
    let mut lines =
        plot("ns for each switch, over the number of tasks", &cost, &|ns| fit(ns, SCALE - 1), style);
    if lines.is_empty() {
        return lines;
    }
    for curve in &cost {
        lines.extend(wrap(&knee(curve), style.prose(), "  "));
    }
    lines.extend(plot(
        "Resident bytes for each task, over the number of tasks",
        &curves("memory"),
        &size,
        style,
    ));
    lines
}

/// Where a switch begins to cost twice what it cost at its cheapest before.
fn knee(curve: &Curve) -> String {
    let mut cheapest = f64::INFINITY;
    for &[tasks, ns] in &curve.series.points {
        if ns > KNEE * cheapest {
            let (tasks, ns, cheap) = (count(tasks as usize), fit(ns, 8), fit(cheapest, 8));
            return format!(
                "{}: at {tasks} tasks {ns} ns, more than twice the {cheap} ns of fewer",
                curve.name
            );
        }
        cheapest = cheapest.min(ns);
    }
    let last = curve.series.points.last().map_or(0.0, |point| point[0]);
    format!("{}: no knee up to {} tasks", curve.name, count(last as usize))
}

/// Both scales are logarithmic. Nothing is drawn for fewer than three numbers of tasks.
fn plot(title: &str, curves: &[Curve], label: &dyn Fn(f64) -> String, style: &Style) -> Vec<String> {
    let dots: Vec<(f64, f64, char)> = curves
        .iter()
        .zip(SIGNS)
        .flat_map(|(curve, sign)| curve.series.points.iter().map(move |&[x, y]| (x, y, sign)))
        .filter(|(x, y, _)| x.is_finite() && y.is_finite() && *x >= 1.0 && *y > 0.0)
        .map(|(x, y, sign)| (x.ln(), y.ln(), sign))
        .collect();
    let range = |of: fn(&(f64, f64, char)) -> f64| {
        dots.iter()
            .map(of)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), it| (low.min(it), high.max(it)))
    };
    let ((west, east), (low, high)) = (range(|dot| dot.0), range(|dot| dot.1));
    if !curves.iter().any(|curve| curve.series.points.len() > 2) || dots.len() < 3 || east - west < 0.5 {
        return Vec::new();
    }
    // A flat line is drawn as one, not blown up to the height of the field.
    let middle = (low + high) / 2.0;
    let (low, high) = if high - low < 0.7 { (middle - 0.35, middle + 0.35) } else { (low, high) };
    let width = style.prose() - SCALE - 3;
    let mut field = vec![vec![' '; width]; ROWS];
    for (x, y, sign) in dots {
        let column = ((x - west) / (east - west) * (width - 1) as f64).round() as usize;
        let row = ROWS - 1 - ((y - low) / (high - low) * (ROWS - 1) as f64).round() as usize;
        field[row][column] = sign;
    }
    let bar = style.pick("│", "|");
    let mut lines = vec![String::new(), style.paint(Paint::Bold, title)];
    for (at, cells) in field.into_iter().enumerate() {
        let height = (ROWS - 1 - at) as f64 / (ROWS - 1) as f64;
        let label = if [0, ROWS / 2, ROWS - 1].contains(&at) {
            label(((high - low) * height + low).exp())
        } else {
            String::new()
        };
        let text: String = cells.into_iter().collect();
        lines.push(format!("{label:>SCALE$} {bar} {text}").trim_end().to_owned());
    }
    let corner = style.pick("└", "+");
    lines.push(format!("{:SCALE$} {corner}{}", "", style.pick("─", "-").repeat(width + 1)));
    let (first, last) = (count(west.exp().round() as usize), count(east.exp().round() as usize));
    let gap = width.saturating_sub(first.len() + last.len());
    lines.push(format!("{:SCALE$}   {first}{}{last}", "", " ".repeat(gap)));
    let legend: Vec<String> =
        curves.iter().zip(SIGNS).map(|(curve, sign)| format!("{sign} {}", curve.name)).collect();
    lines.extend(wrap(&legend.join("  "), style.prose(), &format!("{:SCALE$}   ", "")));
    lines
}
