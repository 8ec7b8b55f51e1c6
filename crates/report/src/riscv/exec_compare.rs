//! Two bills of programs inside of a kernel: the functions and calls that moved, then what they caused in the kernel.

use super::exec::part;
use crate::sheet::{Column, Sheet, Table, prose, title};
use crate::style::{Paint, Style};
use crate::text::clean;
use tollgate_judge::{GuestComparison, Moved};
use tollgate_record::number::count;

/// Lines of each table; JSON has all.
const SHOWN: usize = 15;

/// The comparison as text.
pub fn guest_comparison(found: &GuestComparison, style: &Style) -> String {
    let mut text = Sheet::new();
    let unit = &found.unit;
    let [a, b] = found.total.cost;
    let verdict = match found.total.difference() {
        0 => format!("No difference: {} {unit} each.", count(a)),
        difference => {
            let what = if difference > 0 { "more" } else { "less" };
            let share = 100.0 * difference as f64 / a.max(1) as f64;
            format!(
                "B costs {} {unit} {what} ({share:+.3} %): {} before, {} now.",
                count(difference.unsigned_abs()),
                count(a),
                count(b)
            )
        }
    };
    text.extend(prose(verdict, "").paint(Paint::Bold));
    for (name, program) in ["A", "B"].into_iter().zip(&found.programs) {
        text.extend(prose(clean(program, style), format!("{name}  ")));
    }
    for why in &found.differs {
        text.extend(prose(clean(why, style), "  - "));
    }
    let parts: Vec<Moved> =
        found.parts.iter().map(|it| Moved { name: part(&it.name).to_owned(), ..it.clone() }).collect();
    for (heading, list) in [
        ("Functions that moved", &found.functions),
        ("Crossings that moved", &found.crossings),
        ("What that caused in the kernel", &found.kernel),
        ("Parts of the bill", &parts),
    ] {
        text.extend(table(heading, list, style));
    }
    text.text(style)
}

fn table(heading: &str, list: &[Moved], style: &Style) -> Sheet {
    if list.is_empty() {
        return Sheet::new();
    }
    let counted = list.iter().any(|it| it.count.is_some());
    let mut columns = vec![Column::left("").most(40).least(10)];
    if counted {
        columns.extend([Column::right("count A"), Column::right("count B")]);
    }
    columns.extend([Column::right("A"), Column::right("B"), Column::right("change")]);
    let mut table = Table::new(columns).indent(2);
    for it in list.iter().take(SHOWN) {
        let mut cells = vec![clean(&it.name, style)];
        if counted {
            cells.extend(it.count.map_or([String::new(), String::new()], |count_of| count_of.map(count)));
        }
        let sign = if it.difference() > 0 {
            "+"
        } else if it.difference() < 0 {
            "-"
        } else {
            ""
        };
        let change = format!("{sign}{}", count(it.difference().unsigned_abs()));
        cells.extend([count(it.cost[0]), count(it.cost[1]), change]);
        table.row(cells);
    }
    let mut text = title(heading);
    text.extend(Sheet::from(table));
    if list.len() > SHOWN {
        text.extend(prose(format!("{} more; --json has them.", list.len() - SHOWN), "  "));
    }
    text
}
