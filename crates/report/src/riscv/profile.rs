//! Where a program's instructions went: by function, by phase, and for each system call by phase.

use super::words::{CAUSES, PHASES, bar, percent, share, warnings};
use crate::sheet::{Column, Sheet, Table, painted, prose};
use crate::style::{Paint, Style};
use crate::text::clean;
use crate::words;
use tollgate_record::family::{FunctionFound, ProgramFound};
use tollgate_record::number::{count, mean, whole};
use tollgate_record::{CauseName, Measurement, Run};

/// Functions that have a line of their own, unless the run says how many.
const SHOWN: usize = 20;
const NAME: usize = 38;

pub(super) fn view(run: &Run, style: &Style) -> Sheet {
    let mut text = Sheet::new();
    for result in &run.results {
        let Some(found) = result.found.program() else { continue };
        if !text.is_empty() {
            text.blank();
        }
        text.extend(profile(result, found, style));
    }
    text.extend(warnings(run, style, &[]));
    text
}

/// How many functions have a line of their own.
fn shown(result: &Measurement, found: &ProgramFound) -> usize {
    let top = result.asked.program().and_then(|asked| asked.top);
    top.map_or(SHOWN, |top| top as usize).min(found.functions.len())
}

fn profile(result: &Measurement, found: &ProgramFound, style: &Style) -> Sheet {
    let mut text = cycles(result, found, style);
    if !text.is_empty() {
        text.blank();
    }
    text.extend(instructions(result, found, style));
    text
}

/// Cycles by function and cause, if a core was attached.
fn cycles(result: &Measurement, found: &ProgramFound, style: &Style) -> Sheet {
    let Some(core) = result.asked.program().and_then(|asked| asked.core.as_deref()) else {
        return Sheet::new();
    };
    let sum =
        |of: &[FunctionFound], cause: &str| -> u64 { of.iter().filter_map(|it| it.causes.get(cause)).sum() };
    let causes: Vec<(CauseName, &str)> =
        CAUSES.into_iter().filter(|(cause, _)| sum(&found.functions, cause.name) > 0).collect();
    let columns = causes.iter().enumerate().map(|(i, (_, name))| Column::right(*name).rank(i + 3));
    let first = [
        Column::left("function").most(NAME).least(8),
        Column::right("cycles"),
        Column::right("total").rank(2),
        Column::right("CPI").rank(1),
    ];
    let mut table = Table::new(first.into_iter().chain(columns)).gap(1);
    let mut line = |name: String, of: &[FunctionFound]| {
        let all: u64 = of.iter().flat_map(|it| it.causes.values()).sum();
        let total = if let [one] = of { one.total } else { None };
        let instructions: u64 = of.iter().map(|it| it.instructions).sum();
        let cpi =
            if instructions == 0 { "-".into() } else { format!("{:.2}", all as f64 / instructions as f64) };
        let each = causes.iter().map(|(cause, _)| count(sum(of, cause.name)));
        table.row([name, count(all), total.map_or_else(String::new, count), cpi].into_iter().chain(each));
    };
    let shown = shown(result, found);
    for function in &found.functions[..shown] {
        line(clean(&function.name, style), std::slice::from_ref(function));
    }
    if shown < found.functions.len() {
        line(format!("{} more", found.functions.len() - shown), &found.functions[shown..]);
    }
    line("total".into(), &found.functions);
    let title = format!("Cycles on {}, simulated and exact, by function and cause", clean(core, style));
    let mut text = painted(Paint::Bold, &title);
    text.extend(Sheet::from(table));
    let below = "cycles: the function's own; total: with what it called.";
    if found.functions.iter().any(|function| function.total.is_some()) {
        text.extend(prose(below, ""));
    }
    if let Some(proof) = &found.proof {
        let proof = format!("{} against its RTL: {}.", clean(core, style), clean(proof, style));
        text.extend(prose(&proof, ""));
    }
    text
}

fn instructions(result: &Measurement, found: &ProgramFound, style: &Style) -> Sheet {
    let total: f64 = found.functions.iter().map(|function| function.instructions as f64).sum();
    let mut functions = shares("function");
    let (shown, more) = found.functions.split_at(shown(result, found));
    for function in shown {
        row(&mut functions, &clean(&function.name, style), function.instructions as f64, total);
    }
    if !more.is_empty() {
        let rest = more.iter().map(|function| function.instructions as f64).sum();
        row(&mut functions, &format!("{} more", more.len()), rest, total);
    }
    row(&mut functions, "total", total, total);
    let mut text = Sheet::from(functions);
    if !result.phases.is_empty() {
        let mut phases = shares("phase");
        for phase in &result.phases {
            let instructions = phase.instructions.unwrap_or(0.0);
            row(&mut phases, &words::phase(&phase.name, style), instructions, total);
        }
        text.blank();
        text.extend(Sheet::from(phases));
    }
    if !found.calls.is_empty() {
        text.blank();
        text.extend(calls(found, style));
    }
    text
}

fn shares(what: &str) -> Table {
    Table::new([
        Column::left(what).most(NAME).least(8),
        Column::right("instructions"),
        Column::right("share"),
        Column::left("").least(4).rank(1),
    ])
}

fn row(table: &mut Table, name: &str, instructions: f64, total: f64) {
    let share = share(instructions, total);
    table.row([name.to_owned(), whole(instructions), percent(share), bar(share / 2.0)]);
}

/// The system calls, each with its phases.
fn calls(found: &ProgramFound, style: &Style) -> Sheet {
    let columns = &PHASES[1..];
    let first = [Column::left("kernel, per call").least(16), Column::right("calls"), Column::right("instr")];
    let phases = columns.iter().map(|(head, rank, _)| Column::right(*head).rank(rank + 1));
    let mut table = Table::new(first.into_iter().chain(phases));
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
    table.into()
}
