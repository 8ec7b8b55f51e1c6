//! Bills of traps in cycles: a line for each trap, the bills by phase and cause, and what the program pays after the
//! return.

use super::functions;
use super::words::{CAUSES, crossing_name, kernel, names_functions, or_dash, part, trap};
use crate::head::head;
use crate::notes::notes;
use crate::sheet::{Column, Sheet, Table, painted, prose};
use crate::style::{Paint, Style};
use crate::text::clean;
use crate::words;
use std::collections::{BTreeMap, BTreeSet};
use tollgate_record::family::Caches;
use tollgate_record::number::{mean, whole};
use tollgate_record::{CauseName, Measurement, Phase, Run, Status, counter};

/// A line for each trap, and unless it is a whole design space the bills of all, and what follows the first return.
pub(super) fn view(run: &Run, style: &Style) -> Sheet {
    let mut text = head(run, style);
    text.blank();
    let traps: Vec<&Measurement> = run.results.iter().filter(|it| it.status == Status::Measured).collect();
    text.extend(summary(&traps, style));
    let designs: BTreeSet<_> = traps.iter().map(|it| (kernel(it), trap(it).core.clone())).collect();
    if designs.len() == 1 {
        for result in traps.iter().filter(|it| it.phases.iter().any(|phase| !phase.causes.is_empty())) {
            text.blank();
            text.extend(bill(result, style));
        }
        if let Some(result) = traps.iter().find(|it| part(it, counter::AFTER, "cycles").is_some()) {
            text.blank();
            text.extend(after(result));
        }
    }
    text.extend(functions::view(&run.results, style));
    text.blank();
    text.extend(notes(run, style));
    text
}

fn core(result: &Measurement, style: &Style) -> String {
    clean(trap(result).core.as_deref().unwrap_or("-"), style)
}

/// One line for each trap; its warm and its cold entry are one.
fn summary(traps: &[&Measurement], style: &Style) -> Sheet {
    let Some(first) = traps.first() else { return Sheet::new() };
    let cores: BTreeSet<_> = traps.iter().map(|it| trap(it).core.clone()).collect();
    let name = if cores.len() > 1 { "each core".to_owned() } else { core(first, style) };
    // A real kernel's bill is that of one crossing.
    let which = if names_functions(first) { "median" } else { "mean" };
    let title = format!("Cycles on {name}, simulated and exact; the {which} of each loop.");
    let mut text = painted(Paint::Bold, &title);
    let is_evicted = traps.iter().any(|it| trap(it).caches == Some(Caches::Evicted));
    let own = (cores.len() > 1).then(|| Column::left("core").least(8));
    let columns = [
        Column::left("kernel").least(10),
        Column::left("crossing").least(8).rank(5),
        Column::right("instr").rank(2),
        Column::right("cycles"),
        Column::right("CPI").rank(3),
        Column::right(if is_evicted { "evicted" } else { "cold" }).rank(1),
        Column::right("after").rank(4),
        Column::right("in all"),
    ];
    let mut table = Table::new(own.into_iter().chain(columns));
    let key = |it: &Measurement| (it.probe.clone(), kernel(it).to_owned(), trap(it).core.clone());
    let is_cold = |it: &Measurement| matches!(trap(it).caches, Some(Caches::Cold | Caches::Evicted));
    let cold: BTreeMap<_, f64> =
        traps.iter().filter(|it| is_cold(it)).filter_map(|it| Some((key(it), it.cycles?.estimate))).collect();
    for result in traps.iter().filter(|it| !is_cold(it)) {
        let instructions = result.counter(counter::INSTRUCTIONS);
        let cycles = result.cycles.map(|cycles| cycles.estimate);
        let cpi =
            cycles.zip(instructions).map(|(cycles, instructions)| format!("{:.2}", cycles / instructions));
        let more = part(result, counter::AFTER, "cycles");
        let own = (cores.len() > 1).then(|| core(result, style));
        let cells = [
            clean(kernel(result), style),
            clean(crossing_name(result), style),
            or_dash(instructions),
            or_dash(cycles),
            cpi.unwrap_or_else(|| "-".into()),
            or_dash(cold.get(&key(result)).copied()),
            or_dash(more),
            or_dash(cycles.map(|cycles| cycles + more.unwrap_or(0.0))),
        ];
        table.row(own.into_iter().chain(cells));
    }
    text.extend(Sheet::from(table));
    let proofs = traps.iter().filter_map(|it| Some((core(it, style), it.found.trap()?.proof.as_deref()?)));
    for (core, proof) in proofs.collect::<BTreeMap<_, _>>() {
        let proof = format!("{core} against its RTL: {}.", clean(proof, style));
        text.extend(prose(&proof, ""));
    }
    text
}

fn bill(result: &Measurement, style: &Style) -> Sheet {
    // The columns that have something in them.
    let of = |phase: &Phase, cause: CauseName| phase.causes.get(cause.name).copied().unwrap_or(0.0);
    let is_used = |(cause, _): &(CauseName, &str)| result.phases.iter().any(|phase| of(phase, *cause) != 0.0);
    let columns: Vec<(CauseName, &str)> = CAUSES.into_iter().filter(is_used).collect();
    let total = result.cycles.map_or(0.0, |cycles| cycles.estimate);
    let caches = trap(result).caches.map_or_else(String::new, |caches| format!(", caches {}", caches.name()));
    let (crossing, kernel) = (clean(crossing_name(result), style), clean(kernel(result), style));
    let noun = if total == 1.0 { "cycle" } else { "cycles" };
    let core = core(result, style);
    let title = format!("{crossing}, kernel {kernel}, {core}{caches}: {} {noun}", mean(total));
    let mut text = painted(Paint::Bold, &title);
    // The instructions, which the first cause nearly repeats, go first, then the causes from the last one on.
    let names =
        [Column::left("").least(18), Column::right("instr").rank(columns.len() + 1), Column::right("cycles")];
    let causes = columns.iter().enumerate().map(|(i, (_, name))| Column::right(*name).rank(i + 1));
    let mut table = Table::new(names.into_iter().chain(causes)).gap(if columns.len() > 6 { 1 } else { 2 });
    // A mean with decimals has no room among many causes.
    let short = |x: f64| match mean(x) {
        full if full.len() <= if columns.len() > 7 { 5 } else { 7 } => full,
        _ => whole(x.round_ties_even()),
    };
    let line = |name: String, instructions: Option<f64>, cycles: Option<f64>, causes: Vec<String>| {
        [name, or_dash(instructions), or_dash(cycles)].into_iter().chain(causes)
    };
    let mut sums = vec![0.0; columns.len()];
    let (mut instructions, mut cycles) = (0.0, 0.0);
    for it in &result.phases {
        instructions += it.instructions.unwrap_or(0.0);
        cycles += it.cycles.map_or(0.0, |cycles| cycles.estimate);
        let mut causes = Vec::new();
        for ((cause, _), sum) in columns.iter().zip(&mut sums) {
            let n = of(it, *cause);
            *sum += n;
            causes.push(if n == 0.0 { String::new() } else { short(n) });
        }
        let name = format!("  {}", words::phase(&it.name, style));
        table.row(line(name, it.instructions, it.cycles.map(|cycles| cycles.estimate), causes));
    }
    let causes = sums.into_iter().map(short).collect();
    table.row(line("  total".into(), Some(instructions), Some(cycles), causes));
    text.extend(Sheet::from(table));
    text
}

fn after(result: &Measurement) -> Sheet {
    let counter = |name: &str| part(result, counter::AFTER, name).unwrap_or(0.0);
    let causes: Vec<String> = CAUSES
        .iter()
        .filter(|(cause, _)| counter(cause.name) != 0.0)
        .map(|(cause, _)| format!("{} {}", cause.name, mean(counter(cause.name))))
        .collect();
    const LOST: [(&str, &str); 5] = [
        ("l1i-lines", "L1I lines"),
        ("l1d-lines", "L1D lines"),
        ("l2-lines", "L2 lines"),
        ("itlb-entries", "ITLB entries"),
        ("dtlb-entries", "DTLB entries"),
    ];
    let lost = LOST.iter().filter(|(key, _)| counter(key) != 0.0);
    let lost: Vec<String> = lost.map(|(key, name)| format!("{} {name}", mean(counter(key)))).collect();
    let text = if counter("cycles") == 0.0 && lost.is_empty() {
        format!(
            "After the return the program pays nothing: no line or translation of its own was lost, and it goes on \
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
    prose(&text, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_record::family::TrapAsked;
    use tollgate_record::{Asked, Estimate, Per};

    #[test]
    fn each_core_has_a_line_with_its_own_cold_figure() {
        let bill = |core: &str, caches, cycles| {
            let mut result = Measurement::empty("riscv-trap/getpid", "embedded", Per::Trap, Status::Measured);
            let (core, caches) = (Some(core.to_owned()), Some(caches));
            result.asked =
                Asked::Trap(TrapAsked { kernel: "full".into(), core, caches, ..TrapAsked::default() });
            result.cycles = Some(Estimate::point(cycles));
            result
        };
        let bills = [
            bill("one", Caches::Warm, 120.0),
            bill("one", Caches::Cold, 450.0),
            bill("two", Caches::Warm, 99.0),
            bill("two", Caches::Cold, 101.0),
        ];
        let lines = |bills: &[Measurement]| {
            summary(&bills.iter().collect::<Vec<_>>(), &Style::PLAIN).lines(&Style::PLAIN)
        };
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let both = lines(&bills);
        assert!(both[0].contains("each core"), "{}", both[0]);
        let rows: Vec<_> = both[2..4].iter().map(|line| words(line)).collect();
        assert_eq!(rows[0], ["one", "full", "getpid", "-", "120", "-", "450", "-", "120"]);
        assert_eq!(rows[1], ["two", "full", "getpid", "-", "99", "-", "101", "-", "99"]);
        assert!(lines(&bills[..2])[0].contains("Cycles on one,"));
    }
}
