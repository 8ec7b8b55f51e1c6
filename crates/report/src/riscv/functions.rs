//! What the functions of a real kernel take of a crossing.

use super::words::{crossing, instructions, or_dash, percent, share, trap};
use crate::sheet::{Column, Sheet, Table, painted};
use crate::style::{Paint, Style};
use crate::text::clean;
use std::collections::BTreeMap;
use tollgate_record::{Measurement, Status, counter, phase};

/// Functions that have a line of their own.
const SHOWN: usize = 16;

/// A table for each result that names functions, most instructions first.
pub(super) fn view(results: &[Measurement], style: &Style) -> Sheet {
    let measured = results.iter().filter(|result| result.status == Status::Measured);
    let mut text = Sheet::new();
    for result in measured {
        let functions = functions(result);
        if !functions.is_empty() {
            text.blank();
            text.extend(table(result, &functions, style));
        }
    }
    text
}

/// Names, instructions and cycles.
fn functions(result: &Measurement) -> Vec<(&str, f64, Option<f64>)> {
    let prefix = counter::FUNCTION.part("");
    let mut found: BTreeMap<&str, (f64, Option<f64>)> = BTreeMap::new();
    for (name, &value) in &result.counters {
        match name.strip_prefix(&prefix).and_then(|name| name.rsplit_once('/')) {
            Some((name, "instructions")) => found.entry(name).or_default().0 = value,
            Some((name, "cycles")) => found.entry(name).or_default().1 = Some(value),
            _ => {}
        }
    }
    let mut functions: Vec<_> =
        found.into_iter().map(|(name, (count, cycles))| (name, count, cycles)).collect();
    functions.sort_by(|a, b| b.2.unwrap_or(b.1).total_cmp(&a.2.unwrap_or(a.1)).then(a.0.cmp(b.0)));
    functions
}

fn table(result: &Measurement, functions: &[(&str, f64, Option<f64>)], style: &Style) -> Sheet {
    let caches = trap(result).caches.map_or_else(String::new, |caches| format!(", {}", caches.name()));
    let unnamed = instructions(result, phase::OTHER);
    let total: f64 = functions.iter().map(|function| function.1).sum();
    let title = format!(
        "{}{caches}, by function; {} of the instructions have no symbol",
        crossing(result, style),
        percent(share(unnamed, total))
    );
    let mut text = painted(Paint::Bold, &title);
    let cycles: f64 = functions.iter().filter_map(|function| function.2).sum();
    let timed = functions.iter().any(|function| function.2.is_some());
    let spent = timed.then(|| Column::right("cycles").rank(1));
    let first = [Column::left("").least(18).most(40), Column::right("instr")];
    let mut table = Table::new(first.into_iter().chain(spent).chain([Column::right("share").rank(2)]));
    let mut line = |name: String, count: f64, spent: Option<f64>| {
        let part = if timed { share(spent.unwrap_or(0.0), cycles) } else { share(count, total) };
        let spent = timed.then(|| or_dash(spent));
        table
            .row([format!("  {name}"), or_dash(Some(count))].into_iter().chain(spent).chain([percent(part)]));
    };
    let (shown, more) = functions.split_at(functions.len().min(SHOWN));
    for &(name, count, spent) in shown {
        line(clean(name, style), count, spent);
    }
    if !more.is_empty() {
        let spent = timed.then(|| more.iter().filter_map(|function| function.2).sum());
        line(format!("{} more", more.len()), more.iter().map(|function| function.1).sum(), spent);
    }
    line("total".into(), total, timed.then_some(cycles));
    text.extend(Sheet::from(table));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_record::Per;

    #[test]
    fn functions_come_by_their_cycles_and_add_up() {
        let mut result = Measurement::empty("riscv-trap/getpid", "embedded", Per::Trap, Status::Measured);
        for (name, count, cycles) in [("few", 3.0, 90.0), ("many/odd", 50.0, 60.0), ("none", 0.0, 1.0)] {
            result.counters.insert(format!("function/{name}/instructions"), count);
            result.counters.insert(format!("function/{name}/cycles"), cycles);
        }
        result.counters.insert("instructions".into(), 53.0);
        assert_eq!(
            functions(&result),
            [("few", 3.0, Some(90.0)), ("many/odd", 50.0, Some(60.0)), ("none", 0.0, Some(1.0))]
        );
        let text = view(std::slice::from_ref(&result), &Style::PLAIN).text(&Style::PLAIN);
        assert!(text.contains("total") && text.contains("53") && text.contains("151"), "{text}");
        result.counters.clear();
        assert!(view(&[result], &Style::default()).is_empty());
    }
}
