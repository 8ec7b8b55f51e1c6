//! The hardware alone, as a bare guest saw it.

use super::title;
use crate::number::{fit, percent};
use crate::style::{Paint, Style};
use crate::text::{clean, cut, left, right, wrap};
use tollgate_record::{Measurement, Status};

/// The warning of figures that an emulator made.
const EMULATED: &str = "emulated";
const NAME: usize = 34;

pub(super) fn table(results: &[&Measurement], style: &Style) -> Vec<String> {
    let measured: Vec<&&Measurement> = results.iter().filter(|it| it.status == Status::Measured).collect();
    let mut text = title("The hardware alone, in a bare guest", style);
    if measured.is_empty() {
        let why = results.first().and_then(|it| it.reason.as_deref());
        let why = why.map_or("No bare guest was run.".into(), |why| clean(why, style));
        text.extend(wrap(&why, style.prose(), "  "));
        return text;
    }
    for result in &measured {
        let ns = result.ns.map_or("-".into(), |ns| fit(ns.estimate, 9));
        let cycles = result.cycles.map_or("-".into(), |it| fit(it.estimate, 9));
        let half = result.ns.or(result.cycles).map_or(String::new(), |it| percent(it.relative_half_width()));
        let mark = if emulated(result) { "emulated" } else { "" };
        let line = format!(
            "  {}{} ns{} cycles{}  {} {mark}",
            left(&cut(&clean(&result.probe, style), NAME - 2, style), NAME - 2),
            right(&ns, 10),
            right(&cycles, 10),
            right(&half, 7),
            cut(&clean(&result.engine, style), 14, style),
        );
        let paint = if emulated(result) { Paint::Dim } else { Paint::Plain };
        text.push(style.paint(paint, line.trim_end()));
    }
    if measured.iter().any(|result| emulated(result)) {
        let why = "Emulated figures are those of software: they say nothing of the hardware.";
        text.extend(wrap(why, style.prose(), "  "));
    }
    text
}

fn emulated(result: &Measurement) -> bool {
    result.has_warning(EMULATED) || result.engine.starts_with("qemu-")
}
