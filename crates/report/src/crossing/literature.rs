//! What others have found, with their machines: to be held beside a bill, never mixed with it.

use crate::sheet::{Column, Sheet, Table, prose, title};
use crate::style::Paint;

/// What, in how many cycles of the core named, on which machine, and who published it.
const ROWS: [[&str; 4]; 11] = [
    ["page fault, entry only", "about 500", "Xeon E5 v3, bare metal", "xperf"],
    ["page fault, entry only", "about 800", "Xeon E5 v3, in a VM", "xperf"],
    ["L4Re null system call", "52", "Intel N100", "L4Re"],
    ["L4Re null system call", "222", "Intel Ice Lake", "L4Re"],
    ["L4Re null system call", "138", "Cortex-A76", "L4Re"],
    ["L4Re null system call", "230", "Cortex-A53", "L4Re"],
    ["L4Re IPC, address spaces", "390", "Intel N100", "L4Re"],
    ["L4Re IPC, address spaces", "934", "Intel Ice Lake", "L4Re"],
    ["seL4 call + reply", "718 + 576", "Skylake, no PTI", "seL4"],
    ["seL4 call + reply", "413 + 426", "Cortex-A57", "seL4"],
    ["KVM exit: three parts", "576 + 1,376 + 576", "AMD (SVM)", "LKML"],
];

pub(super) fn table() -> Sheet {
    let mut text = title("What others found, in cycles of their machines");
    let mut table = Table::new([
        Column::left("").least(20),
        Column::right(""),
        Column::left("").least(14),
        Column::left("").rank(1),
    ])
    .indent(2);
    for row in ROWS {
        table.painted(row, Paint::Dim);
    }
    text.extend(Sheet::from(table));
    let how = "xperf patched the kernel's fault entry to read the time-stamp counter. Nearest to it here: the \
               entry of a page fault by tracepoint, and next the one with the kernel's own event in it \
               (docs/labs/crossing.md).";
    text.extend(prose(how, "  "));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Style;

    #[test]
    fn every_row_fits_the_narrowest_usual_terminal_and_names_machine_and_source() {
        assert!(table().lines(&Style::PLAIN).iter().all(|line| line.len() <= 80));
        assert!(ROWS.iter().all(|[_, _, machine, source]| !machine.is_empty() && !source.is_empty()));
    }
}
