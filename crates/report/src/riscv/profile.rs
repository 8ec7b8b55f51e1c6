//! Where a program's instructions went: by function, by phase, and for each system call by phase.

use super::words::{PHASES, bar, percent, phase_name, share, warnings};
use crate::style::Style;
use crate::table::{Column, TextTable};
use crate::text::clean;
use tollgate_record::family::ProgramFound;
use tollgate_record::number::{count, mean, whole};
use tollgate_record::{Measurement, Run};

/// Functions that have a line of their own.
const SHOWN: usize = 20;
const NAME: usize = 38;

pub(super) fn view(run: &Run, style: &Style) -> Vec<String> {
    let mut text = Vec::new();
    for result in &run.results {
        let Some(found) = result.found.program() else { continue };
        if !text.is_empty() {
            text.push(String::new());
        }
        text.extend(profile(result, found, style));
    }
    text.extend(warnings(run, style, &[]));
    text
}

fn profile(result: &Measurement, found: &ProgramFound, style: &Style) -> Vec<String> {
    let total: f64 = found.functions.iter().map(|function| function.instructions as f64).sum();
    let mut functions = shares("function");
    for function in found.functions.iter().take(SHOWN) {
        row(&mut functions, &clean(&function.name, style), function.instructions as f64, total);
    }
    if found.functions.len() > SHOWN {
        let rest = found.functions[SHOWN..].iter().map(|function| function.instructions as f64).sum();
        row(&mut functions, &format!("{} more", found.functions.len() - SHOWN), rest, total);
    }
    row(&mut functions, "total", total, total);
    let mut text = functions.lines(style);
    if !result.phases.is_empty() {
        let mut phases = shares("phase");
        for phase in &result.phases {
            let instructions = phase.instructions.unwrap_or(0.0);
            row(&mut phases, &phase_name(&phase.name, style), instructions, total);
        }
        text.push(String::new());
        text.extend(phases.lines(style));
    }
    if !found.calls.is_empty() {
        text.push(String::new());
        text.extend(calls(found, style));
    }
    text
}

fn shares(what: &str) -> TextTable {
    TextTable::new([
        Column::left(what).most(NAME).least(8),
        Column::right("instructions"),
        Column::right("share"),
        Column::left("").least(4).rank(1),
    ])
}

fn row(table: &mut TextTable, name: &str, instructions: f64, total: f64) {
    let share = share(instructions, total);
    table.row([name.to_owned(), whole(instructions), percent(share), bar(share / 2.0)]);
}

/// The system calls, each with its phases.
fn calls(found: &ProgramFound, style: &Style) -> Vec<String> {
    let columns = &PHASES[1..];
    let first = [Column::left("kernel, per call").least(16), Column::right("calls"), Column::right("instr")];
    let phases = columns.iter().map(|(head, rank, _)| Column::right(*head).rank(rank + 1));
    let mut table = TextTable::new(first.into_iter().chain(phases));
    for call in &found.calls {
        let name = match &call.name {
            Some(name) => format!("{} ({})", clean(name, style), call.number),
            // Numbers beyond those of any kernel are not worth a name.
            None if call.number > u64::from(u16::MAX) => "another".into(),
            None => format!("call {}", call.number),
        };
        let each = |instructions: u64| mean(instructions as f64 / call.count.max(1) as f64);
        let first = [name, count(call.count), each(call.phases.values().sum())];
        let phases =
            columns.iter().map(|(.., phase)| each(call.phases.get(phase.name).copied().unwrap_or(0)));
        table.row(first.into_iter().chain(phases));
    }
    table.lines(style)
}
