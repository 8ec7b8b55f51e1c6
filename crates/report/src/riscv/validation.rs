//! How near timed cores are to the RTL of real ones.

use std::collections::BTreeMap;

use tollgate_record::number::{change, mean, percent, whole};
use tollgate_record::{Measurement, Run, Status, counter};

use crate::style::{Paint, Style};
use crate::table::{Column, TextTable};
use crate::text::{clean, painted, wrap};

/// A line for each core; for a single one also each of its loops that differs.
pub(super) fn view(run: &Run, style: &Style) -> Vec<String> {
    let mut cores: BTreeMap<(&str, &str), Vec<&Measurement>> = BTreeMap::new();
    for result in &run.results {
        let Some(asked) = result.asked.validation() else { continue };
        cores.entry((&asked.core, &asked.preset)).or_default().push(result);
    }
    let title = "Timed cores against the RTL of real ones: cycles of loops";
    let mut text = painted(Paint::Bold, title, style);
    let mut table = TextTable::new([
        Column::left("RTL"),
        Column::left("timed core"),
        Column::right("exact"),
        Column::right("of"),
        Column::right("mean error"),
        Column::right("worst"),
        Column::left("at").rank(1),
        Column::right("cycles").rank(3),
        Column::right("apart").rank(2),
    ]);
    for ((core, preset), results) in &cores {
        let both: Vec<(&Measurement, [f64; 3])> =
            results.iter().filter_map(|result| Some((*result, steady(result)?))).collect();
        let sum = |of: fn(f64) -> f64| both.iter().map(|(_, cycles)| of(error(cycles))).sum::<f64>();
        let worst = both.iter().max_by(|a, b| error(&a.1).abs().total_cmp(&error(&b.1).abs()));
        let total = |at: usize| both.iter().map(|(_, cycles)| cycles[at]).sum::<f64>();
        table.row([
            clean(core, style),
            clean(preset, style),
            whole(sum(|error| f64::from(error == 0.0))),
            whole(results.len() as f64),
            percent(sum(f64::abs) / both.len() as f64),
            worst.map_or_else(String::new, |(_, cycles)| change(error(cycles))),
            worst.map_or_else(String::new, |(result, _)| program(result, style)),
            whole(total(0)),
            whole(total(2)),
        ]);
    }
    text.extend(table.lines(style));
    let below = "exact: loops whose warm pass takes as many cycles; cycles: those of the RTL for one pass of each loop; \
                 apart: the sum of the differences of single instructions, which cannot cancel.";
    text.extend(wrap(below, style.prose(), ""));
    if cores.len() == 1 {
        text.push(String::new());
        text.extend(differences(run, style));
    }
    text
}

/// Every loop of the run that differs.
fn differences(run: &Run, style: &Style) -> Vec<String> {
    let mut table = TextTable::new([
        Column::left("loop"),
        Column::right("RTL"),
        Column::right("timed"),
        Column::right("error"),
        Column::right("apart").rank(1),
        Column::right("first to last").rank(2),
    ]);
    for result in &run.results {
        let name = program(result, style);
        match steady(result) {
            Some(cycles) if cycles[0] != cycles[1] => {
                let [rtl, model] = [counter::COLD_RTL, counter::LOOP_MODEL]
                    .map(|counter| result.counter(counter).unwrap_or(f64::NAN));
                let whole = change((model - rtl) / rtl);
                table.row([
                    name,
                    mean(cycles[0]),
                    mean(cycles[1]),
                    change(error(&cycles)),
                    mean(cycles[2]),
                    whole,
                ]);
            }
            Some(_) => {}
            None => {
                let reason = result.reason.as_deref().unwrap_or("it was not compared");
                table.text(format!("{name}: "), clean(reason, style), Paint::Dim);
            }
        }
    }
    table.lines(style)
}

fn program(result: &Measurement, style: &Style) -> String {
    result.asked.validation().map(|asked| clean(&asked.program, style)).unwrap_or_default()
}

/// Cycles of a warm pass in the RTL and on the timed core, and the sum of differences.
fn steady(result: &Measurement) -> Option<[f64; 3]> {
    if result.status != Status::Measured {
        return None;
    }
    let count = |counter| result.counter(counter);
    Some([count(counter::STEADY_RTL)?, count(counter::STEADY_MODEL)?, count(counter::STEADY_APART)?])
}

fn error([rtl, model, _]: &[f64; 3]) -> f64 {
    (model - rtl) / rtl
}
