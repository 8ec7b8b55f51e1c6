//! `/proc/interrupts`: one column for each CPU.

/// Interrupts that devices sent to one CPU; `None` when it has no column. Timers, and the rows that have a name instead
/// of a number (calls from other CPUs, our own wake-ups too; machine checks), are not counted.
pub(super) fn of_devices(text: &str, cpu: usize) -> Option<u64> {
    let mut lines = text.lines();
    let name = format!("CPU{cpu}");
    // Only online CPUs have a column, so that the number of the CPU is not its position.
    let column = lines.next()?.split_ascii_whitespace().position(|title| title == name)?;
    let counts = lines.filter_map(|line| {
        let (label, rest) = line.split_once(':')?;
        label.trim().parse::<u32>().ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let count: u64 = fields.nth(column)?.parse().ok()?;
        (!fields.any(|word| word.ends_with("timer"))).then_some(count)
    });
    Some(counts.fold(0, u64::saturating_add))
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
        // Neither the timer (LOC) nor calls from other CPUs (RES).
        assert_eq!(of_devices(text, 2), Some(120_486));
        assert_eq!(of_devices(text, 1), None);
    }

    #[test]
    fn the_arm_timer_is_a_numbered_row() {
        let text = "           CPU0       CPU1\n 11:  900  800  GICv3  27 Level     arch_timer\n\
                    \u{20}14:   5    6  GICv3  33 Level     uart-pl011\nIPI0:   3    4       Rescheduling interrupts\n";
        assert_eq!(of_devices(text, 1), Some(6));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "( *CPU[0-9] CPU1\n)?([A-Z0-9]{0,3}:[ 0-9a-z\\-]{0,40}\n){0,5}\\PC{0,40}") {
            let _ = of_devices(&text, 1);
        }
    }
}
