//! Several engines side by side, notes on their figures, and what they could not measure.

use super::words::{crossing, kernel, or_dash};
use crate::sheet::{Column, Sheet, Table, prose};
use crate::style::Style;
use crate::text::clean;
use crate::words::reason;
use indexmap::{IndexMap, IndexSet};
use tollgate_record::{Measurement, Run, Status, counter};

/// A note for readers of an engine's figures.
const NOTES: [(&str, &str); 3] = [
    ("embedded", "Counted instruction by instruction from outside; a trapping ecall does not count."),
    ("spike", "Spike's cycle is an instruction: it has no timing, and a trapping ecall does not count."),
    ("qemu", "QEMU counts the trapping ecall as an instruction: each trap is one more here than in Spike."),
];

/// The engines of a run, in their order.
fn engines(run: &Run) -> IndexSet<&str> {
    run.results.iter().map(|result| result.engine.as_str()).collect()
}

/// The totals: a row for each experiment, a column for each engine.
pub(super) fn table(run: &Run, style: &Style) -> Sheet {
    let experiment = |result: &Measurement| (kernel(result).to_owned(), result.probe.clone());
    let mut rows: IndexMap<_, &Measurement> = IndexMap::new();
    for result in &run.results {
        rows.entry(experiment(result)).or_insert(result);
    }
    let names = engines(run);
    // Of the two labels a narrow terminal keeps the one in which the rows differ.
    let kernels = rows.values().map(|row| kernel(row)).collect::<IndexSet<_>>().len() > 1;
    let (of_kernel, of_crossing) = if kernels { (0, 1) } else { (1, 0) };
    let labels =
        [Column::left("instructions").least(8).rank(of_kernel), Column::left("").least(14).rank(of_crossing)];
    let figures = names.iter().map(|name| Column::right(clean(name, style)));
    let mut table = Table::new(labels.into_iter().chain(figures));
    for row in rows.into_values() {
        let of = |engine: &&str| {
            let same = |it: &&Measurement| it.engine == **engine && experiment(it) == experiment(row);
            let found = run.results.iter().filter(|it| it.status == Status::Measured).find(same);
            or_dash(found.and_then(|it| it.counter(counter::INSTRUCTIONS)))
        };
        let labels = [clean(kernel(row), style), crossing(row, style)];
        table.row(labels.into_iter().chain(names.iter().map(of)));
    }
    table.into()
}

/// The note of each engine that measured something, and what could not be measured; one reason for several experiments
/// is printed once.
pub(super) fn notes(run: &Run, style: &Style) -> Sheet {
    let measured =
        |engine: &str| run.results.iter().any(|it| it.engine == engine && it.status == Status::Measured);
    let known = engines(run).into_iter().filter(|engine| measured(engine));
    let notes = known.filter_map(|engine| NOTES.iter().find(|(name, _)| *name == engine));
    let mut text: Sheet = notes.flat_map(|(_, note)| prose(*note, "")).collect();

    let missing: Vec<&Measurement> =
        run.results.iter().filter(|result| result.status != Status::Measured).collect();
    let mut reasons: IndexMap<String, IndexSet<String>> = IndexMap::new();
    for result in &missing {
        let enable = result.enable.as_deref().filter(|_| style.all);
        let enable = enable.map_or_else(String::new, |enable| format!("; {}", clean(enable, style)));
        let why = format!("{}{enable}", reason(result, style));
        let sentence = match result.status {
            Status::Skipped => why,
            _ => format!("{}: {why}", crossing(result, style)),
        };
        // A missing engine measures no experiment at all; a list of them would say nothing more.
        let name = result.enable.is_none().then(|| clean(kernel(result), style));
        reasons.entry(sentence).or_default().extend(name);
    }
    let skipped = missing.iter().all(|result| result.status == Status::Skipped);
    let word = if skipped { "skipped" } else { "not measured" };
    for (why, names) in reasons {
        let names = Vec::from_iter(names).join(", ");
        let names = if names.is_empty() { names } else { names + ": " };
        text.extend(prose(format!("{word}: {names}{why}"), ""));
    }
    text
}
