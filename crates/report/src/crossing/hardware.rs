//! The hardware alone, as a bare guest saw it: a row for each crossing, a column for each engine.

use crate::sheet::{Column, Sheet, Table, painted, prose, title};
use crate::style::{Paint, Style};
use crate::text::{clean, cut};
use crate::words::{self, is_emulated};
use indexmap::{IndexMap, IndexSet};
use tollgate_record::number::{FIGURE, fit};
use tollgate_record::{Estimate, Measurement, Status, warning};

/// Columns that a terminal of 80 has room for.
const ENGINES: usize = 3;

pub(super) fn table(results: &[&Measurement], style: &Style) -> Sheet {
    let mut text = title("The hardware alone, in a bare guest, ns");
    let measured = || results.iter().filter(|it| it.status == Status::Measured && it.ns.is_some());
    let engines: IndexSet<&str> = measured().map(|result| result.engine.as_str()).collect();
    let engines: Vec<&str> = engines.into_iter().take(ENGINES).collect();
    let mut shown: IndexMap<&str, IndexMap<&str, Option<Estimate>>> = IndexMap::new();
    for result in measured().filter(|result| engines.contains(&result.engine.as_str())) {
        let by_engine = shown.entry(&result.probe).or_default();
        by_engine.entry(&result.engine).or_insert(result.ns);
    }
    if engines.is_empty() {
        let why = results.first().and_then(|it| it.reason.as_deref());
        let why = why.map_or("No bare guest was run.".into(), |why| clean(why, style));
        text.extend(prose(&why, "  "));
        return text;
    }
    let emulated = |engine: &str| measured().any(|it| it.engine == engine && is_emulated(it));
    let marked = engines.iter().any(|engine| emulated(engine));
    let columns = engines.iter().map(|engine| Column::right(clean(engine, style)).least(12).most(18));
    let mut table = Table::new(std::iter::once(Column::left("").least(12)).chain(columns)).indent(2);
    let row = |name: &str, cell: &dyn Fn(&str) -> String| -> Vec<String> {
        std::iter::once(name.to_owned()).chain(engines.iter().map(|engine| cell(engine))).collect()
    };
    if marked {
        let mark = |engine: &str| if emulated(engine) { "emulated" } else { "hardware" }.to_owned();
        table.painted(row("", &mark), Paint::Warn);
    }
    for (probe, by_engine) in shown {
        let cell = |engine: &str| {
            by_engine.get(engine).copied().flatten().map_or("-".into(), |ns| fit(ns.estimate, FIGURE))
        };
        table.row(row(&short(probe, style), &cell));
    }
    text.extend(Sheet::from(table));
    if marked {
        let why =
            "Emulated figures are those of software: they say nothing of the hardware and split no bill.";
        text.extend(prose(why, "  "));
    }
    text
}

/// The rows taken apart, as the first engine saw them, and the counts of instructions, where an engine counted them.
pub(super) fn parts(results: &[&Measurement], style: &Style) -> Sheet {
    let measured: Vec<&Measurement> =
        results.iter().copied().filter(|it| it.status == Status::Measured).collect();
    let mut text = Sheet::new();
    let apart = |it: &&&Measurement| it.phases.iter().any(|part| part.ns.is_some());
    if let Some(first) = measured.iter().find(apart) {
        let head = format!("  parts, {}, ns", clean(&first.engine, style));
        text.extend(painted(Paint::Dim, cut(&head, style.columns(), style)));
        let mut table = Table::new([Column::left("").most(24)]).indent(2);
        for row in measured.iter().filter(apart).filter(|it| it.engine == first.engine) {
            table.prose([short(&row.probe, style)], named_parts(row, style), Paint::Plain);
        }
        text.extend(Sheet::from(table));
    }
    let counted: Vec<String> = measured
        .iter()
        .filter_map(|it| {
            Some(format!("{} {}", short(&it.probe, style), whole(*it.counters.get("instructions")?)))
        })
        .collect();
    if !counted.is_empty() {
        let told = format!("instructions between the stamps: {}", counted.join(", "));
        text.extend(prose(&told, "  "));
    }
    text
}

fn whole(count: f64) -> String {
    if count.fract() == 0.0 && count.abs() < 1e6 { format!("{count:.0}") } else { fit(count, 8) }
}

fn short(probe: &str, style: &Style) -> String {
    let name = clean(probe, style);
    name.strip_prefix("hardware/").map_or(name.clone(), str::to_owned)
}

/// The parts one after another, without the rest that is in none.
fn named_parts(row: &Measurement, style: &Style) -> String {
    let mut told: Vec<String> = row
        .phases
        .iter()
        .filter(|part| part.name != "unattributed")
        .filter_map(|part| Some(format!("{} {}", words::phase(&part.name, style), fit(part.ns?.estimate, 8))))
        .collect();
    if row.has_warning(warning::INTERCEPTED) {
        told.push("intercepted".into());
    }
    told.join(", ")
}

#[cfg(test)]
mod tests {
    use super::parts as table;
    use crate::Style;
    use tollgate_record::{Estimate, Evidence, Measurement, Per, Phase, Status, Warning, counter, warning};

    const PLAIN: Style = Style { width: 80, color: false, unicode: false, ..Style::PLAIN };

    fn row(engine: &str) -> Measurement {
        let mut row = Measurement::empty("hardware/undefined", engine, Per::Trap, Status::Measured);
        for (name, ns) in [("entry", 300.0), ("handler", 1.0), ("return", 110.0), ("unattributed", 9.0)] {
            let ns = Some(Estimate::point(ns));
            row.phases.push(Phase { ns, ..Phase::new(name, Evidence::Guest) });
        }
        row
    }

    #[test]
    fn the_parts_are_those_of_the_first_engine() {
        let mut first = row("kvm-amd");
        first.warnings.push(Warning::new(warning::INTERCEPTED, "the hypervisor intercepts it"));
        let text = table(&[&first, &row("qemu-tcg")], &PLAIN).lines(&PLAIN);
        assert_eq!(text[0], "  parts, kvm-amd, ns");
        assert_eq!(text[1], "  undefined  entry 300, handler 1.0, return 110, intercepted");
        assert_eq!(text.len(), 2);
    }

    #[test]
    fn counts_are_told_as_counts_and_nothing_as_nothing() {
        let mut counted =
            Measurement::empty("hardware/iretq", "qemu-tcg-icount", Per::Instruction, Status::Measured);
        counted.count(counter::INSTRUCTIONS, 1.0);
        assert_eq!(table(&[&counted], &PLAIN).lines(&PLAIN), ["  instructions between the stamps: iretq 1"]);
        assert!(table(&[], &PLAIN).is_empty());
    }
}
