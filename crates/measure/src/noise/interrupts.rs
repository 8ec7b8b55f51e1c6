//! `/proc/interrupts` and `/proc/softirqs`: one column for each CPU.

use serde::{Deserialize, Serialize};

/// Interrupts that one CPU took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupts {
    /// The scheduler's own timer.
    pub timer: u64,
    /// Devices.
    pub device: u64,
    /// The rest: calls from other CPUs (our own wake-ups too), machine checks; every row of softirqs.
    pub other: u64,
}

impl Interrupts {
    /// All together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.timer.saturating_add(self.device).saturating_add(self.other)
    }

    /// Both added up.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            timer: self.timer.saturating_add(other.timer),
            device: self.device.saturating_add(other.device),
            other: self.other.saturating_add(other.other),
        }
    }

    /// What was added since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            timer: self.timer.saturating_sub(before.timer),
            device: self.device.saturating_sub(before.device),
            other: self.other.saturating_sub(before.other),
        }
    }
}

/// The column of one CPU; `None` when there is no such column.
pub(super) fn parse(text: &str, cpu: usize) -> Option<Interrupts> {
    let mut lines = text.lines();
    let name = format!("CPU{cpu}");
    let header: Vec<&str> = lines.next()?.split_ascii_whitespace().collect();
    // Only online CPUs have a column, so that the number of the CPU is not its position.
    let column = header.iter().position(|title| *title == name)?;
    let mut counts = Interrupts::default();
    for line in lines {
        let Some((label, rest)) = line.split_once(':') else { continue };
        let label = label.trim();
        let mut fields = rest.split_ascii_whitespace();
        // Rows that count for the whole machine (`ERR`) are shorter than the header.
        let Some(count) = fields.nth(column).and_then(|field| field.parse::<u64>().ok()) else { continue };
        let kind = if label == "LOC" || fields.any(|word| word.ends_with("timer")) {
            &mut counts.timer
        } else if label.parse::<u32>().is_ok() {
            &mut counts.device
        } else {
            &mut counts.other
        };
        *kind = kind.saturating_add(count);
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn x86_rows_by_kind() {
        let text = "           CPU0       CPU2       \n\
                    \u{20}24:          1          3  IO-APIC   5-edge      ACPI:Ged\n\
                    \u{20}36:          0     120483 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n\
                    LOC:      45312      56218   Local timer interrupts\n\
                    RES:      22079      10839   Rescheduling interrupts\n\
                    ERR:          7\n";
        assert_eq!(parse(text, 2), Some(Interrupts { timer: 56_218, device: 120_486, other: 10_839 }));
        assert_eq!(parse(text, 1), None);
    }

    #[test]
    fn the_arm_timer_is_a_numbered_row() {
        let text = "           CPU0       CPU1\n 11:  900  800  GICv3  27 Level     arch_timer\n\
                    \u{20}14:   5    6  GICv3  33 Level     uart-pl011\nIPI0:   3    4       Rescheduling interrupts\n";
        assert_eq!(parse(text, 1), Some(Interrupts { timer: 800, device: 6, other: 4 }));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "( *CPU[0-9] CPU1\n)?([A-Z0-9]{0,3}:[ 0-9a-z\\-]{0,40}\n){0,5}\\PC{0,40}") {
            let _ = parse(&text, 1);
        }
    }
}
