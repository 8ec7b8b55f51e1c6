//! The design space of kernel entries: one line for each kernel, and what the table says.

use super::grid::Grid;
use super::words::{crossing, kernel, mean, or_dash};
use crate::style::Style;
use crate::text::{clean, wrap};
use tollgate_record::{Measurement, counter};

/// One line for each kernel, in groups of the same crossing.
pub(super) fn view(bills: &[&Measurement], style: &Style) -> Vec<String> {
    if bills.is_empty() {
        return Vec::new();
    }
    let mut grid = Grid::default()
        .label("kernel", 15)
        .figure("instr", 6)
        .figure("loads", 6)
        .figure("stores", 7)
        .figure("saved", 6);
    let mut group = None;
    for bill in bills {
        let crossing = crossing(bill, style);
        if group.as_ref() != Some(&crossing) {
            grid.group(crossing.clone());
            group = Some(crossing);
        }
        let counters = [counter::INSTRUCTIONS, counter::LOADS, counter::STORES, counter::BYTES_SAVED];
        let figures = counters.map(|name| or_dash(bill.counter(name))).to_vec();
        let about = bill.found.trap().map(|found| clean(&found.about, style)).unwrap_or_default();
        grid.row([format!("  {}", clean(kernel(bill), style))], figures, about);
    }
    let mut text = grid.lines(style);
    text.push(String::new());
    text.extend(wrap(&conclusion(bills), style.prose(), ""));
    text
}

/// What the table says about how the overhead could be reduced.
fn conclusion(bills: &[&Measurement]) -> String {
    let of = |name: &str| {
        let bill = bills.iter().find(|bill| kernel(bill) == name)?;
        bill.counter(counter::INSTRUCTIONS_MIN)
    };
    let Some(full) = of("full") else { return String::new() };
    let against = |name: &str, words: &str| {
        let n = of(name)?;
        // No sign before a zero.
        let change = ((n - full) / full * 100.0).round() + 0.0;
        Some(format!("{words} {} ({change:+.0} %)", mean(n)))
    };
    let parts: Vec<String> = [
        against("caller", "saving only what C may overwrite"),
        against("bank", "a second register bank"),
        against("stack", "stacking in hardware"),
        against("fp-eager", "saving floating point every time"),
    ]
    .into_iter()
    .flatten()
    .collect();
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
