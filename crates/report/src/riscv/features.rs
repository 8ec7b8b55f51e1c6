//! What switching a feature costs: designs as columns, and from which share of crossings with a use on saving always costs less.

use super::words::trap;
use crate::sheet::{Column, Sheet, Table, prose};
use crate::style::{Paint, Style};
use crate::text::clean;
use indexmap::IndexSet;
use tollgate_record::family::Policy;
use tollgate_record::{Measurement, counter};

const POLICIES: [(&str, Policy); 3] =
    [("always", Policy::Always), ("if dirty", Policy::IfDirty), ("by trap", Policy::ByTrap)];

/// Whether these are bills of features.
pub(super) fn is_of_features(bills: &[&Measurement]) -> bool {
    !bills.is_empty() && bills.iter().all(|bill| trap(bill).feature.is_some())
}

pub(super) fn view(bills: &[&Measurement], style: &Style) -> Sheet {
    let titles = POLICIES.map(|(title, _)| Column::right(title).least(10));
    let mut table = Table::new([Column::left("feature").least(24)].into_iter().chain(titles)).gap(2);
    let names: IndexSet<String> =
        bills.iter().filter_map(|bill| Some(trap(bill).feature.as_ref()?.name.clone())).collect();
    let mut has_shares = false;
    for name in &names {
        let find = |policy: Policy, used: Option<bool>| {
            let is_meant = |bill: &&&Measurement| {
                trap(bill)
                    .feature
                    .as_ref()
                    .is_some_and(|it| it.name == *name && it.policy == policy && it.used == used)
            };
            bills.iter().find(is_meant).copied()
        };
        let figures = |bill: &Measurement| {
            Some([bill.counter(counter::INSTRUCTIONS_MIN)?, bill.counter(counter::BYTES_SAVED)?])
        };
        let Some(without) = find(Policy::Without, None).and_then(figures) else { continue };
        let cell = |policy, used| {
            let [instructions, bytes] = find(policy, used).and_then(figures)?;
            // (No sign before a zero.)
            let signed = |n: f64| if n == 0.0 { "0".to_owned() } else { format!("{n:+.0}") };
            Some(format!("{}, {}", signed(instructions - without[0]), signed(bytes - without[1])))
        };
        table.heading(clean(name, style), Paint::Plain);
        for (label, used) in [("  each time", None), ("  used", Some(true)), ("  not used", Some(false))] {
            let cells = POLICIES.map(|(_, policy)| cell(policy, used));
            if cells.iter().any(Option::is_some) {
                let cells = cells.map(|cell| cell.unwrap_or_else(|| "-".to_owned()));
                table.row([label.to_owned()].into_iter().chain(cells));
            }
        }
        let share = |policy| {
            let bill = find(policy, Some(true))?;
            let share = |what| bill.counters.get(&counter::BREAK_EVEN.part(what)).map(|share| share * 100.0);
            let text = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{share:.0} %"));
            let both = [share("instructions"), share("bytes")];
            both.iter().any(Option::is_some).then(|| both.map(text).join(", "))
        };
        let shares = POLICIES.map(|(_, policy)| share(policy));
        if shares.iter().any(Option::is_some) {
            has_shares = true;
            let cells = shares.map(|share| share.unwrap_or_default());
            table.row(["  even with always at".to_owned()].into_iter().chain(cells));
        }
    }
    let mut text = Sheet::from(table);
    text.blank();
    let mut notes = "Instructions, and bytes of registers saved, that each design adds to the same kernel without the feature."
        .to_owned();
    if has_shares {
        notes += " Even with always: the share of crossings behind which the feature is used, from which on saving it always costs \
                  less; below it, this design does.";
    }
    let beyond: IndexSet<&str> = bills
        .iter()
        .filter_map(|bill| {
            let isa = &trap(bill).isa;
            let vectors = isa.starts_with("rv64gcv").then_some("vectors");
            vectors.or_else(|| isa.contains("zicfiss").then_some("a shadow stack"))
        })
        .collect();
    if !beyond.is_empty() {
        let beyond: Vec<_> = beyond.into_iter().collect();
        notes += &format!(" Instructions and memory traffic: no core here has {}.", beyond.join(" or "));
    }
    text.extend(prose(notes, ""));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_record::family::{FeatureAsked, TrapAsked};
    use tollgate_record::{Asked, Per, Status};

    fn bill(policy: Policy, used: Option<bool>, instructions: f64, bytes: f64) -> Measurement {
        let mut bill = Measurement::empty("riscv-trap/yield", "embedded", Per::Switch, Status::Measured);
        let feature = Some(FeatureAsked { name: "vectors".into(), policy, used });
        bill.asked = Asked::Trap(TrapAsked { isa: "rv64gcv".into(), feature, ..TrapAsked::default() });
        bill.count(counter::INSTRUCTIONS_MIN, instructions);
        bill.count(counter::BYTES_SAVED, bytes);
        bill
    }

    #[test]
    fn each_design_has_a_column_and_the_figures_are_differences() {
        let mut lazy = bill(Policy::ByTrap, Some(true), 231.0, 1080.0);
        lazy.counters.insert(counter::BREAK_EVEN.part("instructions"), 0.244);
        let bills = [
            bill(Policy::Without, None, 93.0, 264.0),
            bill(Policy::Always, Some(true), 135.0, 808.0),
            lazy,
            bill(Policy::ByTrap, Some(false), 93.0, 272.0),
        ];
        let bills: Vec<_> = bills.iter().collect();
        assert!(is_of_features(&bills));
        let text = view(&bills, &Style::PLAIN).text(&Style::PLAIN);
        for part in ["+42, +544", "+138, +816", "0, +8", "24 %, -", "no core here has vectors"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
