//! The hardware alone, as a bare guest saw it: a row for each crossing, a column for each engine.

use super::{line, title};
use crate::number::fit;
use crate::style::{Paint, Style};
use crate::text::{clean, cut, left, right, wrap};
use crate::words::is_emulated;
use tollgate_record::{Measurement, Status};

const NAME: usize = 24;
const COLUMN: usize = 18;
/// Columns that a terminal of 80 has room for.
const ENGINES: usize = 3;

pub(super) fn table(results: &[&Measurement], style: &Style) -> Vec<String> {
    let mut text = title("The hardware alone, in a bare guest, ns", style);
    let measured = || results.iter().filter(|it| it.status == Status::Measured && it.ns.is_some());
    let (mut engines, mut names): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for result in measured() {
        if !engines.contains(&result.engine.as_str()) && engines.len() < ENGINES {
            engines.push(&result.engine);
        }
        if engines.contains(&result.engine.as_str()) && !names.contains(&result.probe.as_str()) {
            names.push(&result.probe);
        }
    }
    if engines.is_empty() {
        let why = results.first().and_then(|it| it.reason.as_deref());
        let why = why.map_or("No bare guest was run.".into(), |why| clean(why, style));
        text.extend(wrap(&why, style.prose(), "  "));
        return text;
    }
    let emulated = |engine: &str| measured().any(|it| it.engine == engine && is_emulated(it));
    let row = |name: &str, cell: &dyn Fn(&str) -> String| {
        let cells: String = engines.iter().map(|engine| right(&cell(engine), COLUMN)).collect();
        line(&format!("  {}{cells}", left(&cut(name, NAME - 1, style), NAME)), style)
    };
    let heads = row("", &|engine| cut(&clean(engine, style), COLUMN - 1, style));
    text.push(style.paint(Paint::Dim, &heads));
    let marked = engines.iter().any(|engine| emulated(engine));
    if marked {
        let mark = row("", &|engine| if emulated(engine) { "emulated" } else { "hardware" }.to_owned());
        text.push(style.paint(Paint::Warn, &mark));
    }
    for probe in names {
        let cell = |engine: &str| {
            let found = measured().find(|it| it.engine == engine && it.probe == probe);
            found.and_then(|it| it.ns).map_or("-".into(), |ns| fit(ns.estimate, COLUMN - 1))
        };
        let name = clean(probe, style);
        text.push(row(name.strip_prefix("hardware/").unwrap_or(&name), &cell));
    }
    if marked {
        let why =
            "Emulated figures are those of software: they say nothing of the hardware and split no bill.";
        text.extend(wrap(why, style.prose(), "  "));
    }
    text
}
