//! The hardware alone, as a bare guest saw it: a row for each crossing, a column for each engine.

use crate::style::{Paint, Style};
use crate::table::{Column, TextTable};
use crate::text::{clean, title, wrap};
use crate::words::is_emulated;
use indexmap::IndexSet;
use tollgate_record::number::{FIGURE, fit};
use tollgate_record::{Measurement, Status};

/// Columns that a terminal of 80 has room for.
const ENGINES: usize = 3;

pub(super) fn table(results: &[&Measurement], style: &Style) -> Vec<String> {
    let mut text = title("The hardware alone, in a bare guest, ns", style);
    let measured = || results.iter().filter(|it| it.status == Status::Measured && it.ns.is_some());
    let engines: IndexSet<&str> = measured().map(|result| result.engine.as_str()).collect();
    let engines: Vec<&str> = engines.into_iter().take(ENGINES).collect();
    let shown = measured().filter(|result| engines.contains(&result.engine.as_str()));
    let names: IndexSet<&str> = shown.map(|result| result.probe.as_str()).collect();
    if engines.is_empty() {
        let why = results.first().and_then(|it| it.reason.as_deref());
        let why = why.map_or("No bare guest was run.".into(), |why| clean(why, style));
        text.extend(wrap(&why, style.prose(), "  "));
        return text;
    }
    let emulated = |engine: &str| measured().any(|it| it.engine == engine && is_emulated(it));
    let marked = engines.iter().any(|engine| emulated(engine));
    let columns = engines.iter().map(|engine| Column::right(clean(engine, style)).least(12).most(18));
    let mut table = TextTable::new(std::iter::once(Column::left("").least(12)).chain(columns)).indent(2);
    let row = |name: &str, cell: &dyn Fn(&str) -> String| -> Vec<String> {
        std::iter::once(name.to_owned()).chain(engines.iter().map(|engine| cell(engine))).collect()
    };
    if marked {
        let mark = |engine: &str| if emulated(engine) { "emulated" } else { "hardware" }.to_owned();
        table.painted(row("", &mark), Paint::Warn);
    }
    for probe in names {
        let cell = |engine: &str| {
            let found = measured().find(|it| it.engine == engine && it.probe == probe);
            found.and_then(|it| it.ns).map_or("-".into(), |ns| fit(ns.estimate, FIGURE))
        };
        let name = clean(probe, style);
        table.row(row(name.strip_prefix("hardware/").unwrap_or(&name), &cell));
    }
    text.extend(table.lines(style));
    if marked {
        let why =
            "Emulated figures are those of software: they say nothing of the hardware and split no bill.";
        text.extend(wrap(why, style.prose(), "  "));
    }
    text
}
