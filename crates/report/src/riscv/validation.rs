//! How near timed cores are to the RTL of real ones.

use std::collections::BTreeMap;

use tollgate_record::family::CyclesCompared;
use tollgate_record::number::{change, mean, percent, whole};
use tollgate_record::{Counter, Measurement, Run, Status, counter};

use crate::sheet::{Column, Sheet, Table, painted, prose};
use crate::style::{Paint, Style};
use crate::text::clean;
use crate::words;

/// The kinds of programs, in the order of the table, with what a line of it compares.
const LINES: [(&str, &str, Cycles); 6] = [
    ("kernels", "kernels, warm", warm),
    ("traps", "traps, warm", warm),
    ("traps", "traps, cold", cold),
    ("interrupts", "interrupts", warm),
    ("programs", "programs", cold),
    ("random", "random programs", cold),
];

/// Cycles in the RTL and on the timed core, and the sum of differences.
type Cycles = fn(&Measurement) -> Option<[f64; 3]>;

/// A table for each core; for a single one also the phases of its traps, and each of its programs that differs.
pub(super) fn view(run: &Run, style: &Style) -> Sheet {
    let mut cores: BTreeMap<(&str, &str), Vec<&Measurement>> = BTreeMap::new();
    for result in &run.results {
        let Some(asked) = result.asked.validation() else { continue };
        cores.entry((&asked.core, &asked.preset)).or_default().push(result);
    }
    let mut text = painted(Paint::Bold, "Timed cores against the RTL of real ones, in cycles");
    for ((core, preset), results) in &cores {
        text.blank();
        let of =
            if core == preset { String::new() } else { format!(", timed core {}", clean(preset, style)) };
        text.extend(painted(Paint::Bold, format!("{}{of}", clean(core, style))));
        text.extend(summary(results, style));
    }
    text.blank();
    let below = "exact: programs that take as many cycles, and interrupts that reach their handler in as many; error: the timed \
                 core's excess over the RTL; apart: the sum of the differences of single instructions, which cannot \
                 cancel, as a part of the RTL's cycles. Warm: the second half of a loop; cold: the first crossing after the \
                 boot. Traps are the lab's kernels with memory at 20, 60 and 150 cycles if the core has caches.";
    text.extend(prose(below, ""));
    if cores.len() == 1 {
        text.blank();
        text.extend(phases(run, style));
        text.extend(differences(run, style));
    }
    text
}

/// A line for each kind of programs.
fn summary(results: &[&Measurement], style: &Style) -> Sheet {
    let mut table = Table::new([
        Column::left("").least(15),
        Column::right("exact"),
        Column::right("of"),
        Column::right("mean error"),
        Column::right("worst"),
        Column::left("at").rank(2),
        Column::right("apart").rank(1),
        Column::right("RTL cycles").rank(3),
    ]);
    for (part, title, cycles) in LINES {
        let of = |result: &&&Measurement| result.asked.validation().is_some_and(|asked| asked.part == part);
        let results: Vec<&Measurement> = results.iter().filter(of).copied().collect();
        let both: Vec<(&Measurement, [f64; 3])> =
            results.iter().filter_map(|&result| Some((result, cycles(result)?))).collect();
        if both.is_empty() {
            continue;
        }
        let worst = both.iter().max_by(|a, b| error(&a.1).abs().total_cmp(&error(&b.1).abs()));
        let total = |at: usize| both.iter().map(|(_, cycles)| cycles[at]).sum::<f64>();
        let latencies: Vec<[u64; 2]> = results
            .iter()
            .filter_map(|it| it.found.validation())
            .flat_map(|it| it.latencies.clone())
            .collect();
        let [exact, of] = if latencies.is_empty() {
            [both.iter().filter(|(_, cycles)| error(cycles) == 0.0).count(), results.len()]
        } else {
            [latencies.iter().filter(|[rtl, model]| rtl == model).count(), latencies.len()]
        };
        table.row([
            title.to_owned(),
            whole(exact as f64),
            whole(of as f64),
            percent(both.iter().map(|(_, cycles)| error(cycles).abs()).sum::<f64>() / both.len() as f64),
            worst.map_or_else(String::new, |(_, cycles)| change(error(cycles))),
            worst
                .filter(|(_, cycles)| error(cycles) != 0.0)
                .map_or_else(String::new, |(it, _)| program(it, style)),
            percent(total(2) / total(0)),
            whole(total(0)),
        ]);
    }
    table.into()
}

/// The phases of all traps together, which are their worst places.
fn phases(run: &Run, style: &Style) -> Sheet {
    let mut phases: Vec<(&str, [CyclesCompared; 2])> = Vec::new();
    for phase in run.results.iter().filter_map(|it| it.found.validation()).flat_map(|found| &found.phases) {
        let at = phases.iter().position(|(name, _)| *name == phase.name).unwrap_or_else(|| {
            phases.push((&phase.name, Default::default()));
            phases.len() - 1
        });
        for (sum, more) in phases[at].1.iter_mut().zip([phase.steady, phase.cold]) {
            sum.rtl += more.rtl;
            sum.model += more.model;
            sum.apart += more.apart;
        }
    }
    if phases.is_empty() {
        return Sheet::new();
    }
    let mut table = Table::new([
        Column::left("phase of all traps").least(18),
        Column::right("warm RTL").rank(2),
        Column::right("timed").rank(2),
        Column::right("error"),
        Column::right("apart"),
        Column::right("cold RTL").rank(3),
        Column::right("timed").rank(3),
        Column::right("cold error"),
        Column::right("cold apart").rank(1),
    ]);
    for (name, both) in phases {
        let cells = both.map(|CyclesCompared { rtl, model, apart }| {
            let part = |cycles: f64| if rtl == 0 { f64::NAN } else { cycles / rtl as f64 };
            let error = if rtl == 0 { "-".to_owned() } else { change(part(model as f64 - rtl as f64)) };
            [whole(rtl as f64), whole(model as f64), error, percent(part(apart as f64))]
        });
        table.row(std::iter::once(words::phase(name, style)).chain(cells.into_iter().flatten()));
    }
    let mut text = Sheet::from(table);
    text.blank();
    text
}

/// Every program of the run that differs.
fn differences(run: &Run, style: &Style) -> Sheet {
    let mut table = Table::new([
        Column::left("program"),
        Column::left("part").rank(4),
        Column::right("RTL"),
        Column::right("timed"),
        Column::right("error"),
        Column::right("apart").rank(1),
        Column::right("cold").rank(2),
    ]);
    for result in &run.results {
        let name = program(result, style);
        let part = result.asked.validation().map(|asked| clean(&asked.part, style)).unwrap_or_default();
        match warm(result) {
            Some(cycles) if cycles[0] != cycles[1] => {
                table.row([
                    name,
                    part,
                    mean(cycles[0]),
                    mean(cycles[1]),
                    change(error(&cycles)),
                    mean(cycles[2]),
                    cold(result).map_or_else(String::new, |cycles| change(error(&cycles))),
                ]);
            }
            Some(_) => {}
            None => {
                let reason = result.reason.as_deref().unwrap_or("it was not compared");
                table.text(format!("{name}: "), clean(reason, style), Paint::Dim);
            }
        }
    }
    table.into()
}

/// Its name, and the latency of memory if it was run with several.
fn program(result: &Measurement, style: &Style) -> String {
    let Some(asked) = result.asked.validation() else { return String::new() };
    let name = clean(&asked.program, style);
    if asked.part == "traps" { format!("{name} ({})", asked.latency) } else { name }
}

/// Of a warm pass.
fn warm(result: &Measurement) -> Option<[f64; 3]> {
    cycles(result, [counter::STEADY_RTL, counter::STEADY_MODEL, counter::STEADY_APART])
}

/// From cold caches.
fn cold(result: &Measurement) -> Option<[f64; 3]> {
    cycles(result, [counter::COLD_RTL, counter::COLD_MODEL, counter::COLD_APART])
}

fn cycles(result: &Measurement, counters: [Counter; 3]) -> Option<[f64; 3]> {
    if result.status != Status::Measured {
        return None;
    }
    let [rtl, model, apart] = counters.map(|counter| result.counter(counter));
    Some([rtl?, model?, apart?])
}

fn error([rtl, model, _]: &[f64; 3]) -> f64 {
    (model - rtl) / rtl
}
