//! The design space.

use std::fmt::Write;

use super::words::{line, mean, wrapped};
use crate::bill::TrapBill;
use crate::design::DESIGNS;

/// The designs there are, one line each.
#[must_use]
pub fn list() -> String {
    DESIGNS.iter().map(|design| format!("{:<15}{}\n", design.name, design.about)).collect()
}

/// The whole design space, and what it says.
#[must_use]
pub fn comparison(bills: &[TrapBill]) -> String {
    if bills.is_empty() {
        return String::new();
    }
    format!("{}\n{}", designs(bills), conclusion(bills))
}

/// The design space: one line for each kernel, in groups of the same crossing.
fn designs(bills: &[TrapBill]) -> String {
    let mut out = format!("{:<14}{:>6}{:>7}{:>8}{:>7}\n", "kernel", "instr", "loads", "stores", "saved");
    let mut group = None;
    for bill in bills {
        let crossing = bill.experiment.crossing;
        if group != Some(crossing) {
            line(&mut out, format_args!("{}", crossing.name()));
            group = Some(crossing);
        }
        let total = bill.phases.as_ref().map(|phases| phases[1].total());
        let count = bill.spread.count;
        let cell = |n: Option<u64>| n.map_or_else(|| "-".to_owned(), |n| mean(n, count));
        line(
            &mut out,
            format_args!(
                "  {:<14}{:>4}{:>7}{:>8}{:>7}  {}",
                bill.experiment.design.name,
                mean(bill.spread.sum, count),
                cell(total.map(|t| t.loads)),
                cell(total.map(|t| t.stores)),
                cell(bill.phases.as_ref().map(|p| p[1].bytes_saved())),
                bill.experiment.design.about
            ),
        );
    }
    out
}

/// What the table of designs says about how the overhead could be reduced.
fn conclusion(bills: &[TrapBill]) -> String {
    let of = |name: &str| {
        bills.iter().find(|bill| bill.experiment.design.name == name).map(|bill| bill.spread.min)
    };
    let Some(full) = of("full") else { return String::new() };
    let against = |name: &str, words: &str| {
        let n = of(name)?;
        let change = (n as f64 - full as f64) / full as f64 * 100.0;
        Some(format!("{words} {n} ({change:+.0} %)"))
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
    let mut text = format!("Against the {full} instructions of a full save: {}.", parts.join(", "));
    if let (Some(same), Some(space), Some(asid), Some(timer)) =
        (of("switch-same"), of("switch-space"), of("switch-asid"), of("timer-same"))
    {
        let _ = write!(
            text,
            " A switch to another task takes {same}; the address space adds {} with a TLB flush and {} with \
             ASIDs, before any refill; by timer it takes {timer}, because machine mode passes the interrupt on.",
            space.saturating_sub(same),
            asid.saturating_sub(same)
        );
    }
    wrapped(&text)
}
