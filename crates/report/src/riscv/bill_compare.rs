//! The bills of two kernels side by side: each crossing by phase, then the functions that moved.

use crate::sheet::{Column, Sheet, Table, prose, title};
use crate::style::{Paint, Style};
use crate::text::clean;
use tollgate_judge::{CrossingComparison, KernelComparison, Moved};
use tollgate_record::number::count;
use tollgate_record::phase_words;

/// Functions of each crossing; JSON has all.
const SHOWN: usize = 15;

/// The comparison as text.
pub fn kernel_comparison(found: &KernelComparison, style: &Style) -> String {
    let mut text = Sheet::new();
    for (name, (file, kernel)) in ["A", "B"].into_iter().zip(found.files.iter().zip(&found.kernels)) {
        text.extend(prose(clean(&format!("{file}, {kernel}"), style), format!("{name}  ")));
    }
    for it in &found.crossings {
        text.extend(crossing(it, style));
    }
    if !found.single.is_empty() {
        let names = found.single.join("; ");
        text.extend(prose(clean(&format!("Only one of them has a bill of {names}."), style), ""));
    }
    text.text(style)
}

fn crossing(it: &CrossingComparison, style: &Style) -> Sheet {
    let mut text = title(clean(&it.crossing, style));
    text.extend(prose(verdict(it), "").paint(Paint::Bold));
    let mut phases: Vec<Moved> =
        it.phases.iter().map(|phase| Moved { name: phase_words(&phase.name), ..phase.clone() }).collect();
    phases.push(it.total.clone());
    text.extend(table("phase", &it.unit, &phases, style));
    let shown = &it.functions[..it.functions.len().min(SHOWN)];
    if !shown.is_empty() {
        text.extend(table("functions that moved", &it.unit, shown, style));
    }
    let more = it.functions.len() - shown.len();
    if more > 0 {
        text.extend(prose(format!("{more} more; --json has them."), "  "));
    }
    text
}

fn verdict(it: &CrossingComparison) -> String {
    let words = |moved: &Moved, unit: &str| {
        let [a, b] = moved.cost.map(count);
        match moved.difference() {
            0 => format!("no difference in {unit}: {a}"),
            difference => format!("{} {unit}: {a} before, {b} now", signed(difference)),
        }
    };
    let text = words(&it.instructions, "instructions");
    if it.unit == "instructions" { text } else { format!("{text}; {}", words(&it.total, &it.unit)) }
}

fn signed(difference: i64) -> String {
    let sign = match difference {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    format!("{sign}{}", count(difference.unsigned_abs()))
}

fn table(head: &str, unit: &str, list: &[Moved], style: &Style) -> Sheet {
    let mut table = Table::new([
        Column::left(head).most(40).least(20),
        Column::right(format!("{unit}\nA")),
        Column::right("B"),
        Column::right("change"),
    ])
    .indent(2);
    for it in list {
        let [a, b] = it.cost.map(count);
        table.row([clean(&it.name, style), a, b, signed(it.difference())]);
    }
    Sheet::from(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_side_by_side_and_only_functions_that_moved_have_a_line() {
        let moved = |name: &str, cost| Moved { name: name.into(), cost, count: None };
        let found = KernelComparison {
            files: ["old".into(), "new".into()],
            kernels: ["linux-6".into(), "linux-6".into()],
            crossings: vec![CrossingComparison {
                crossing: "getpid, warm".into(),
                unit: "instructions".into(),
                instructions: moved("total", [100, 120]),
                total: moved("total", [100, 120]),
                phases: vec![moved("register-save", [40, 60]), moved("handler", [60, 60])],
                functions: vec![moved("planted", [0, 20])],
            }],
            single: vec!["read, warm".into()],
        };
        let text = kernel_comparison(&found, &Style::PLAIN);
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        for expected in [
            &["register", "save", "40", "60", "+20"][..],
            &["handler", "60", "60", "0"],
            &["total", "100", "120", "+20"],
            &["planted", "0", "20", "+20"],
            &["+20", "instructions:", "100", "before,", "120", "now"],
            &["Only", "one", "of", "them", "has", "a", "bill", "of", "read,", "warm."],
        ] {
            assert!(rows.iter().any(|row| row == expected), "{expected:?}:\n{text}");
        }
    }
}
