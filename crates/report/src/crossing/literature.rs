//! What others have found, with their machines: to be held beside a bill, never mixed with it.

use crate::style::{Paint, Style};
use crate::table::{Column, TextTable};
use crate::text::{title, wrap};

/// A published figure.
pub(super) struct Published {
    what: &'static str,
    cycles: &'static str,
    machine: &'static str,
    source: &'static str,
}

/// In the order of the table. All are in cycles of the core named.
pub(super) const ROWS: &[Published] = &[
    Published {
        what: "page fault, entry only",
        cycles: "about 500",
        machine: "Xeon E5 v3, bare metal",
        source: "xperf",
    },
    Published {
        what: "page fault, entry only",
        cycles: "about 800",
        machine: "Xeon E5 v3, in a VM",
        source: "xperf",
    },
    Published { what: "L4Re null system call", cycles: "52", machine: "Intel N100", source: "L4Re" },
    Published { what: "L4Re null system call", cycles: "222", machine: "Intel Ice Lake", source: "L4Re" },
    Published { what: "L4Re null system call", cycles: "138", machine: "Cortex-A76", source: "L4Re" },
    Published { what: "L4Re null system call", cycles: "230", machine: "Cortex-A53", source: "L4Re" },
    Published { what: "L4Re IPC, address spaces", cycles: "390", machine: "Intel N100", source: "L4Re" },
    Published { what: "L4Re IPC, address spaces", cycles: "934", machine: "Intel Ice Lake", source: "L4Re" },
    Published { what: "seL4 call + reply", cycles: "718 + 576", machine: "Skylake, no PTI", source: "seL4" },
    Published { what: "seL4 call + reply", cycles: "413 + 426", machine: "Cortex-A57", source: "seL4" },
    Published {
        what: "KVM exit: three parts",
        cycles: "576 + 1,376 + 576",
        machine: "AMD (SVM)",
        source: "LKML",
    },
];

pub(super) fn table(style: &Style) -> Vec<String> {
    let mut text = title("What others found, in cycles of their machines", style);
    let mut table = TextTable::new([
        Column::left("").least(20),
        Column::right(""),
        Column::left("").least(14),
        Column::left("").rank(1),
    ])
    .indent(2);
    for row in ROWS {
        table.painted([row.what, row.cycles, row.machine, row.source], Paint::Dim);
    }
    text.extend(table.lines(style));
    let how = "xperf patched the kernel's fault entry to read the time-stamp counter. Nearest to it here: the \
               entry of a page fault by tracepoint, and next the one with the kernel's own event in it \
               (docs/labs/crossing.md).";
    text.extend(wrap(how, style.prose(), "  "));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_fits_the_narrowest_usual_terminal_and_names_machine_and_source() {
        assert!(table(&Style::default()).iter().all(|line| line.len() <= 80));
        assert!(ROWS.iter().all(|row| !row.machine.is_empty() && !row.source.is_empty()));
    }
}
