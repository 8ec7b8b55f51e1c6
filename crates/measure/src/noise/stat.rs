//! `/proc/stat` and `schedstat`: the kernel's accounts of CPU time.

/// A CPU's time since boot by kind, in ticks of `sysconf(_SC_CLK_TCK)`.
///
/// Most kernels sample the running task once per scheduler tick, so that a figure is a sample of the time and not its
/// measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// Tasks in user mode, at normal and at lowered priority, guests included.
    pub user: u64,
    /// Tasks in the kernel.
    pub system: u64,
    /// Interrupts, hard and soft.
    pub interrupt: u64,
    /// Ready to run while the hypervisor ran another guest.
    pub steal: u64,
}

/// The line of one CPU; `None` when it is missing or cut short.
pub(super) fn parse(text: &str, cpu: usize) -> Option<CpuTimes> {
    let name = format!("cpu{cpu}");
    let fields: Vec<u64> = text
        .lines()
        .find_map(|line| line.strip_prefix(&name)?.strip_prefix(' '))?
        .split_ascii_whitespace()
        .map_while(|field| field.parse().ok())
        .collect();
    // user nice system idle iowait irq softirq steal; guest times follow and are part of user and nice.
    let &[user, nice, system, _, _, irq, softirq, steal, ..] = &fields[..] else { return None };
    Some(CpuTimes { user: user.saturating_add(nice), system, interrupt: irq.saturating_add(softirq), steal })
}

/// Nanoseconds on a CPU, from a `schedstat` of one task.
pub(super) fn ran_ns(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAT: &str = "cpu  100 20 30 400 5 6 7 8 0 0\ncpu1 1 2 3 4 5 6 7 8 9 10\n\
                        cpu10 70 0 0 0 0 0 0 0 0 0\nintr 5\n";

    #[test]
    fn the_line_of_one_cpu() {
        let one = CpuTimes { user: 3, system: 3, interrupt: 13, steal: 8 };
        assert_eq!(parse(STAT, 1), Some(one));
        assert_eq!(parse(STAT, 10).map(|times| times.user), Some(70));
        assert_eq!(parse(STAT, 0), None);
        assert_eq!(parse("cpu1 1 2 3", 1), None);
        assert_eq!(parse("cpu1 1 2 x 4 5 6 7 8", 1), None);
    }

    #[test]
    fn schedstat() {
        assert_eq!((ran_ns("12 34 5\n"), ran_ns("")), (Some(12), None));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(cpu[0-9]{0,2} ?[0-9 \\-]{0,60}\n?){0,4}\\PC{0,40}") {
            let _ = (parse(&text, 1), ran_ns(&text));
        }
    }
}
