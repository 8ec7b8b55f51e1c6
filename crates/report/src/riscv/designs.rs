//! The design space of kernel entries: one line for each kernel, and a conclusion.

use super::words::{crossing, kernel, or_dash};
use crate::sheet::{Column, Sheet, Table, prose};
use crate::style::{Paint, Style};
use crate::text::clean;
use tollgate_record::number::mean;
use tollgate_record::{Measurement, counter};

/// One line for each kernel, in groups of the same crossing.
pub(super) fn view(bills: &[&Measurement], style: &Style) -> Sheet {
    if bills.is_empty() {
        return Sheet::new();
    }
    let mut table = Table::new([
        Column::left("kernel"),
        Column::right("instr"),
        Column::right("loads").rank(2),
        Column::right("stores").rank(3),
        Column::right("saved").rank(4),
        Column::left("").least(12).rank(1),
    ])
    .gap(1);
    let mut group = String::new();
    for bill in bills {
        let crossing = crossing(bill, style);
        if crossing != group {
            table.heading(&crossing, Paint::Plain);
            group = crossing;
        }
        let counters = [counter::INSTRUCTIONS, counter::LOADS, counter::STORES, counter::BYTES_SAVED];
        let [instructions, loads, stores, saved] = counters.map(|name| or_dash(bill.counter(name)));
        let about = bill.found.trap().map(|found| format!(" {}", clean(&found.about, style)));
        let kernel = format!("  {}", clean(kernel(bill), style));
        table.row([kernel, instructions, loads, stores, saved, about.unwrap_or_default()]);
    }
    let mut text = Sheet::from(table);
    text.blank();
    text.extend(prose(conclusion(bills, style), ""));
    text
}

/// How the overhead could be reduced, according to the table.
fn conclusion(bills: &[&Measurement], style: &Style) -> String {
    let of = |name: &str| bills.iter().find(|bill| kernel(bill) == name)?.counter(counter::INSTRUCTIONS_MIN);
    let Some(full) = of("full") else { return String::new() };
    // No sign before a zero.
    let change = |n: f64| ((n - full) / full * 100.0).round() + 0.0;
    let designs = [
        ("caller", "saving only what C may overwrite"),
        ("bank", "a second register bank"),
        ("stack", "stacking in hardware"),
        ("fp-eager", "saving floating point every time"),
    ];
    let against = designs.into_iter().filter_map(|(name, words)| {
        let n = of(name)?;
        Some(format!("{words} {} ({:+.0} %)", mean(n), change(n)))
    });
    let own = bills.iter().filter(|bill| kernel(bill).contains('.')).filter_map(|bill| {
        let n = bill.counter(counter::INSTRUCTIONS_MIN)?;
        Some((kernel(bill), n))
    });
    let own = own.map(|(name, n)| format!("{} {} ({:+.0} %)", clean(name, style), mean(n), change(n)));
    let parts: Vec<String> = own.chain(against).collect();
    if parts.is_empty() {
        return String::new();
    }
    let mut text = format!("Against the {} instructions of a full save: {}.", mean(full), parts.join(", "));
    if let (Some(same), Some(space), Some(asid), Some(timer)) =
        (of("switch-same"), of("switch-space"), of("switch-asid"), of("timer-same"))
    {
        text += &format!(
            " A switch to another task takes {}; the address space adds {} with a TLB flush and {} with ASIDs, \
             before any refill; by timer it takes {}, because machine mode passes the interrupt on.",
            mean(same),
            mean(space - same),
            mean(asid - same),
            mean(timer)
        );
    }
    text
}
