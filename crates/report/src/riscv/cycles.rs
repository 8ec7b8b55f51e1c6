//! Bills of traps in cycles: a line for each trap, the bills by phase and cause, and what the program pays after the
//! return.

use super::grid::Grid;
use super::words::{crossing_name, kernel, mean, or_dash, part, phase_name, trap};
use crate::head::head;
use crate::notes::notes;
use crate::style::{Paint, Style};
use crate::text::{clean, wrap};
use std::collections::{BTreeMap, BTreeSet};
use tollgate_record::family::Caches;
use tollgate_record::{CauseName, Measurement, Phase, Run, Status, cause, counter};

/// The causes of cycles in the order of the pipe, with the heads of their columns.
const CAUSES: [(CauseName, &str); 10] = [
    (cause::ISSUE, "issue"),
    (cause::LOAD_USE, "load"),
    (cause::CSR, "csr"),
    (cause::BRANCH, "branch"),
    (cause::TRAP_FLUSH, "flush"),
    (cause::I_MISS, "I-miss"),
    (cause::D_MISS, "D-miss"),
    (cause::TLB_WALK, "walk"),
    (cause::LONG_OPERATION, "long"),
    (cause::STRUCTURAL, "struct"),
];

/// Widest label of a row.
const LABEL: usize = 19;

/// A line for each trap, and unless it is a whole design space the bills of all, and what follows the first return.
pub(super) fn view(run: &Run, style: &Style) -> Vec<String> {
    let mut text: Vec<String> = head(run, style).iter().map(|line| style.paint(Paint::Dim, line)).collect();
    text.push(String::new());
    let traps: Vec<&Measurement> = run.results.iter().filter(|it| it.status == Status::Measured).collect();
    text.extend(summary(&traps, style));
    let kernels: BTreeSet<_> = traps.iter().map(|it| kernel(it)).collect();
    if kernels.len() == 1 {
        for result in traps.iter().filter(|it| it.phases.iter().any(|phase| !phase.causes.is_empty())) {
            text.push(String::new());
            text.extend(bill(result, style));
        }
        if let Some(result) = traps.iter().find(|it| part(it, counter::AFTER, "cycles").is_some()) {
            text.push(String::new());
            text.extend(after(result, style));
        }
    }
    text.push(String::new());
    text.extend(notes(run, style));
    text
}

/// The core whose cycles were counted.
fn core(result: &Measurement, style: &Style) -> String {
    clean(trap(result).core.as_deref().unwrap_or("-"), style)
}

/// One line for each trap; its warm and its cold entry are one.
fn summary(traps: &[&Measurement], style: &Style) -> Vec<String> {
    let Some(first) = traps.first() else { return Vec::new() };
    let title = format!(
        "Cycles on {}, simulated and exact; the mean of each loop.",
        clean(param(first, "core"), style)
    );
    let mut text: Vec<String> =
        wrap(&title, style.prose(), "").iter().map(|line| style.paint(Paint::Bold, line)).collect();
    let mut grid = Grid::default()
        .label("kernel", 15)
        .label("crossing", 14)
        .figure("instr", 8)
        .figure("cycles", 9)
        .figure("CPI", 6)
        .figure("cold", 9)
        .figure("after", 9)
        .figure("in all", 10);
    let key = |it: &Measurement| (it.probe.clone(), kernel(it).to_owned());
    let is_cold = |it: &Measurement| trap(it).caches == Some(Caches::Cold);
    let cold: BTreeMap<_, f64> =
        traps.iter().filter(|it| is_cold(it)).filter_map(|it| Some((key(it), it.cycles?.estimate))).collect();
    for result in traps.iter().filter(|it| !is_cold(it)) {
        let instructions = result.counter(counter::INSTRUCTIONS);
        let cycles = result.cycles.map(|cycles| cycles.estimate);
        let cpi =
            cycles.zip(instructions).map(|(cycles, instructions)| format!("{:.2}", cycles / instructions));
        let more = part(result, counter::AFTER, "cycles");
        let figures = vec![
            or_dash(instructions),
            or_dash(cycles),
            cpi.unwrap_or_else(|| "-".into()),
            or_dash(cold.get(&key(result)).copied()),
            or_dash(more),
            or_dash(cycles.map(|cycles| cycles + more.unwrap_or(0.0))),
        ];
        let labels = [clean(kernel(result), style), clean(crossing_name(result), style)];
        grid.row(labels, figures, String::new());
    }
    text.extend(grid.lines(style));
    text
}

/// The columns that have something in them.
fn columns(phases: &[Phase]) -> Vec<(CauseName, &'static str)> {
    let used = |cause: CauseName| {
        phases.iter().any(|phase| phase.causes.get(cause.name).is_some_and(|n| *n != 0.0))
    };
    CAUSES.into_iter().filter(|(cause, _)| used(*cause)).collect()
}

/// Phases by causes.
fn bill(result: &Measurement, style: &Style) -> Vec<String> {
    let columns = columns(&result.phases);
    let total = result.cycles.map_or(0.0, |cycles| cycles.estimate);
    let caches = trap(result).caches.map(|caches| format!(", caches {}", caches.name()));
    let caches = caches.unwrap_or_default();
    let title = format!(
        "{}, kernel {}, {}{caches}: {} {}",
        clean(crossing_name(result), style),
        clean(kernel(result), style),
        core(result, style),
        mean(total),
        if total == 1.0 { "cycle" } else { "cycles" }
    );
    let mut text: Vec<String> =
        wrap(&title, style.prose(), "").iter().map(|line| style.paint(Paint::Bold, line)).collect();
    // What remains of 80 columns is shared. With many causes the instructions, which the first one nearly repeats,
    // give way.
    let counted = columns.len() <= 7;
    let rest = 80 - LABEL - 8 - if counted { 7 } else { 0 };
    let width = (rest / columns.len().max(1)).clamp(5, 8);
    let mut grid = Grid::default().label("", LABEL);
    if counted {
        grid = grid.figure("instr", 7);
    }
    grid = grid.figure("cycles", 8);
    for (_, name) in &columns {
        grid = grid.figure(name.get(..width - 1).unwrap_or(name), width);
    }
    let short = |x: f64| {
        let full = mean(x);
        if full.len() < width { full } else { format!("{x:.0}") }
    };
    let line = |instructions: Option<f64>, cycles: Option<f64>, causes: Vec<String>| {
        let mut figures = if counted { vec![or_dash(instructions)] } else { Vec::new() };
        figures.push(or_dash(cycles));
        figures.extend(causes);
        figures
    };
    let mut sums = vec![0.0; columns.len()];
    let (mut instructions, mut cycles) = (0.0, 0.0);
    for it in &result.phases {
        instructions += it.instructions.unwrap_or(0.0);
        cycles += it.cycles.map_or(0.0, |cycles| cycles.estimate);
        let mut causes = Vec::new();
        for ((cause, _), sum) in columns.iter().zip(&mut sums) {
            let n = it.causes.get(cause.name).copied().unwrap_or(0.0);
            *sum += n;
            causes.push(if n == 0.0 { String::new() } else { short(n) });
        }
        let figures = line(it.instructions, it.cycles.map(|cycles| cycles.estimate), causes);
        grid.row([format!("  {}", phase_name(&it.name, style))], figures, String::new());
    }
    let causes = sums.into_iter().map(short).collect();
    grid.row(["  total".into()], line(Some(instructions), Some(cycles), causes), String::new());
    text.extend(grid.lines(style));
    text
}

/// The cost after the return.
fn after(result: &Measurement, style: &Style) -> Vec<String> {
    let counter = |name: &str| part(result, counter::AFTER, name).unwrap_or(0.0);
    let causes: Vec<String> = CAUSES
        .into_iter()
        .map(|(cause, _)| (cause.name, counter(cause.name)))
        .filter(|(_, n)| *n != 0.0)
        .map(|(cause, n)| format!("{cause} {}", mean(n)))
        .collect();
    let lost: Vec<String> = [
        ("l1i-lines", "L1I lines"),
        ("l1d-lines", "L1D lines"),
        ("l2-lines", "L2 lines"),
        ("itlb-entries", "ITLB entries"),
        ("dtlb-entries", "DTLB entries"),
    ]
    .into_iter()
    .filter(|(key, _)| counter(key) != 0.0)
    .map(|(key, name)| format!("{} {name}", mean(counter(key))))
    .collect();
    let text = if counter("cycles") == 0.0 && lost.is_empty() {
        format!(
            "After the return the program pays nothing: none of its lines and translations was lost, and it goes on \
             at its steady {:.2} cycles an instruction.",
            counter("steady-cpi")
        )
    } else {
        let causes = if causes.is_empty() { String::new() } else { format!(" ({})", causes.join(", ")) };
        let lost = match lost.is_empty() {
            true => "it has no line and no translation to fetch again".into(),
            false => format!("it fetches {} again", lost.join(", ")),
        };
        format!(
            "After the return the program pays {} cycles more{causes}: {lost}, and is back at its steady {:.2} \
             cycles an instruction after {} instructions.",
            mean(counter("cycles")),
            counter("steady-cpi"),
            mean(counter("recovery-instructions"))
        )
    };
    wrap(&text, style.prose(), "")
}
