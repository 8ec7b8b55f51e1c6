//! Where a program's instructions went: by function, by phase, and for each system call by phase.

use super::grid::{Grid, bar, share};
use super::words::{mean, percent, phase_name, warnings, whole};
use crate::style::Style;
use crate::text::{clean, cut};
use tollgate_record::family::ProgramFound;
use tollgate_record::{Measurement, PhaseName, Run, phase};

/// Functions that have a line of their own.
const SHOWN: usize = 20;
/// Columns of a function's name.
const NAME: usize = 38;

/// The profile of each program of a run.
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
        row(&mut functions, &clean(&function.name, style), function.instructions as f64, total, style);
    }
    if found.functions.len() > SHOWN {
        let rest = found.functions[SHOWN..].iter().map(|function| function.instructions as f64).sum();
        row(&mut functions, &format!("{} more", found.functions.len() - SHOWN), rest, total, style);
    }
    row(&mut functions, "total", total, total, style);
    let mut text = functions.lines(style);
    if !result.phases.is_empty() {
        let mut phases = shares("phase");
        for phase in &result.phases {
            let instructions = phase.instructions.unwrap_or(0.0);
            row(&mut phases, &phase_name(&phase.name, style), instructions, total, style);
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

fn shares(what: &str) -> Grid {
    Grid::default().label(what, NAME).figure("instructions", 16).figure("share", 7)
}

fn row(grid: &mut Grid, name: &str, instructions: f64, total: f64, style: &Style) {
    let share = share(instructions, total);
    grid.row([cut(name, NAME, style)], vec![whole(instructions), percent(share)], bar(share / 2.0));
}

/// The system calls, each with its phases.
fn calls(found: &ProgramFound, style: &Style) -> Vec<String> {
    const COLUMNS: [(&str, usize, PhaseName); 6] = [
        ("stack", 6, phase::STACK_SWITCH),
        ("save", 5, phase::REGISTER_SAVE),
        ("dispatch", 9, phase::DISPATCH),
        ("handler", 8, phase::HANDLER),
        ("restore", 8, phase::REGISTER_RESTORE),
        ("return", 7, phase::RETURN),
    ];
    let first = Grid::default().label("kernel, per call", 20).figure("calls", 7).figure("instr", 9);
    let mut grid = COLUMNS.iter().fold(first, |grid, (head, width, _)| grid.figure(*head, *width));
    for call in &found.calls {
        let name = match &call.name {
            Some(name) => format!("{} ({})", clean(name, style), call.number),
            // Numbers beyond those of any kernel are not worth a name.
            None if call.number > u64::from(u16::MAX) => "another".into(),
            None => format!("call {}", call.number),
        };
        let each = |instructions: u64| mean(instructions as f64 / call.count.max(1) as f64);
        let mut figures = vec![whole(call.count as f64), each(call.phases.values().sum())];
        figures.extend(COLUMNS.iter().map(|(_, _, phase)| {
            each(call.phases.get(phase.name).copied().unwrap_or(0))
        }));
        grid.row([name], figures, String::new());
    }
    grid.lines(style)
}
