//! When silence means a hang.
//!
//! Wall time is not enough: on a crowded machine a healthy program is silent for long because others have the
//! CPU. So after the time limit, the scheduler's accounts decide. If the processes of the program waited for a CPU for a
//! part of the silence, only the time that they ran counts. Without these accounts (no `/proc`, no CONFIG_SCHED_INFO) all
//! of the silence counts.

use std::fs;
use std::time::Duration;

/// The silence that a program may still keep before it counts as hung.
#[derive(Clone, Debug)]
pub struct Patience {
    allowed: Duration,
    counted: Duration,
    seen: CpuTime,
}

/// CPU time of a process and its descendants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CpuTime {
    /// Time on a CPU.
    ran: Duration,
    /// Time ready to run while others had the CPU.
    waited: Duration,
}

/// A machine is crowded if a process waits for a CPU for more than one part in so many.
const CROWDED: u32 = 20;

impl Patience {
    /// For a program that has just started and may be silent for `allowed`.
    #[must_use]
    pub fn new(allowed: Duration) -> Self {
        Self { allowed, counted: Duration::ZERO, seen: CpuTime::default() }
    }

    /// How long a program may be silent on a machine that is not crowded.
    #[must_use]
    pub fn allowed(&self) -> Duration {
        self.allowed
    }

    /// Starts again: the program has answered.
    pub fn renew(&mut self) {
        self.counted = Duration::ZERO;
    }

    /// Judges a silence of `silent` since the last call or answer. Returns how much longer to wait; `None` if the
    /// program with the process id `program` hangs.
    pub fn after(&mut self, silent: Duration, program: u32) -> Option<Duration> {
        self.judge(silent, cpu_time(program))
    }

    fn judge(&mut self, silent: Duration, now: Option<CpuTime>) -> Option<Duration> {
        let before = self.seen;
        self.seen = now.unwrap_or(before);
        let waited = self.seen.waited.saturating_sub(before.waited);
        self.counted += if waited > silent / CROWDED {
            self.seen.ran.saturating_sub(before.ran).min(silent)
        } else {
            silent
        };
        let left = self.allowed.checked_sub(self.counted).filter(|left| !left.is_zero())?;
        Some(left.max(self.allowed / CROWDED))
    }
}

/// The CPU time of a process and of its living descendants.
fn cpu_time(program: u32) -> Option<CpuTime> {
    let mut sum = None;
    let mut processes = vec![program];
    while let Some(process) = processes.pop() {
        let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        for task in tasks.map(|task| task.path()) {
            let numbers = |name: &str| -> Vec<u64> {
                let text = fs::read_to_string(task.join(name)).unwrap_or_default();
                text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
            };
            if let [ran, waited, ..] = numbers("schedstat")[..] {
                let sum = sum.get_or_insert_with(CpuTime::default);
                sum.ran += Duration::from_nanos(ran);
                sum.waited += Duration::from_nanos(waited);
            }
            processes.extend(numbers("children").into_iter().filter_map(|child| u32::try_from(child).ok()));
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn patience() -> Patience {
        Patience::new(10 * SECOND)
    }

    fn used(ran: u32, waited: u32) -> Option<CpuTime> {
        Some(CpuTime { ran: ran * SECOND, waited: waited * SECOND })
    }

    #[test]
    fn silence_on_a_machine_with_a_free_cpu_is_a_hang() {
        assert_eq!(patience().judge(10 * SECOND, used(10, 0)), None, "it spins");
        assert_eq!(patience().judge(10 * SECOND, used(0, 0)), None, "it sleeps");
        assert_eq!(patience().judge(10 * SECOND, None), None, "nothing is known of it");
    }

    #[test]
    fn a_program_that_waits_for_a_cpu_gets_more_time() {
        let mut patience = patience();
        assert_eq!(patience.judge(10 * SECOND, used(1, 9)), Some(9 * SECOND));
        assert_eq!(patience.judge(9 * SECOND, used(5, 14)), Some(5 * SECOND));
        patience.renew();
        assert_eq!(patience.judge(10 * SECOND, used(6, 23)), Some(9 * SECOND), "it answered in between");
    }

    #[test]
    fn a_hang_ends_on_a_crowded_machine_too() {
        let mut spins = patience();
        let (mut wall, mut wait) = (Duration::ZERO, spins.allowed());
        let mut looks = 0;
        loop {
            wall += wait;
            looks += 1;
            assert!(looks < 1_000, "it never counts as hung");
            match spins.judge(wait, Some(CpuTime { ran: wall / 10, waited: wall * 9 / 10 })) {
                Some(more) => wait = more,
                None => break,
            }
        }
        assert!(wall >= 90 * SECOND && wall < 120 * SECOND, "10 s at a tenth of a CPU: {wall:?}");
        // Asleep beside a crowd that it does not compete with.
        assert_eq!(patience().judge(10 * SECOND, used(0, 0)), None);
    }

    #[test]
    fn the_accounts_of_this_process_are_read() {
        let Some(before) = cpu_time(std::process::id()) else {
            return tollgate_testkit::skip!(
                "the kernel does not report the CPU time of a process in schedstat"
            );
        };
        while cpu_time(std::process::id()).unwrap().ran == before.ran {}
    }
}
