//! When silence means a hang.
//!
//! Wall time is not enough: on a crowded machine a healthy program is silent for long because others have the
//! CPU. So after the time limit, the scheduler's accounts decide. If the processes of the program waited for a CPU for a
//! part of the silence, only the time that they ran counts. Without these accounts (no `/proc`, no CONFIG_SCHED_INFO) all
//! of the silence counts.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// The silence that a program may still keep before it counts as hung.
#[derive(Clone, Debug)]
pub struct Patience {
    allowed: Duration,
    counted: Duration,
    seen: Accounts,
}

/// The CPU time of each thread of a program, by its number.
type Accounts = BTreeMap<u64, CpuTime>;

/// CPU time of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CpuTime {
    /// Time on a CPU.
    ran: Duration,
    /// Time ready to run while others had the CPU.
    waited: Duration,
}

/// A machine is crowded if a process waits for a CPU for more than one part in this many.
const CROWDED: u32 = 20;

impl Patience {
    /// For a program that has just started and may be silent for `allowed`.
    #[must_use]
    pub fn new(allowed: Duration) -> Self {
        Self { allowed, counted: Duration::ZERO, seen: Accounts::new() }
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

    fn judge(&mut self, silent: Duration, now: Option<Accounts>) -> Option<Duration> {
        let mut since = CpuTime::default();
        if let Some(now) = now {
            // Those that ended since have no accounts any more, and those that began have all of theirs.
            for (thread, time) in &now {
                let before = self.seen.get(thread).copied().unwrap_or_default();
                since.ran += time.ran.saturating_sub(before.ran);
                since.waited += time.waited.saturating_sub(before.waited);
            }
            self.seen = now;
        }
        self.counted += if since.waited > silent / CROWDED { since.ran.min(silent) } else { silent };
        let left = self.allowed.checked_sub(self.counted).filter(|left| !left.is_zero())?;
        Some(left.max(self.allowed / CROWDED))
    }
}

/// The CPU time of the threads of a process and of its living descendants.
fn cpu_time(program: u32) -> Option<Accounts> {
    let mut accounts = Accounts::new();
    let mut processes = vec![program];
    while let Some(process) = processes.pop() {
        let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let numbers = |name: &str| -> Vec<u64> {
                let text = fs::read_to_string(task.path().join(name)).unwrap_or_default();
                text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
            };
            let thread = task.file_name().to_str().and_then(|name| name.parse().ok());
            if let (Some(thread), [ran, waited, ..]) = (thread, &numbers("schedstat")[..]) {
                let [ran, waited] = [ran, waited].map(|ns| Duration::from_nanos(*ns));
                accounts.insert(thread, CpuTime { ran, waited });
            }
            processes.extend(numbers("children").into_iter().filter_map(|child| u32::try_from(child).ok()));
        }
    }
    (!accounts.is_empty()).then_some(accounts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn patience() -> Patience {
        Patience::new(10 * SECOND)
    }

    fn used(ran: u32, waited: u32) -> Option<Accounts> {
        thread(1, ran * SECOND, waited * SECOND)
    }

    fn thread(number: u64, ran: Duration, waited: Duration) -> Option<Accounts> {
        Some(Accounts::from([(number, CpuTime { ran, waited })]))
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
            match spins.judge(wait, thread(1, wall / 10, wall * 9 / 10)) {
                Some(more) => wait = more,
                None => break,
            }
        }
        assert!(wall >= 90 * SECOND && wall < 120 * SECOND, "10 s at a tenth of a CPU: {wall:?}");
        // Asleep beside a crowd that it does not compete with.
        assert_eq!(patience().judge(10 * SECOND, used(0, 0)), None);
    }

    #[test]
    fn processes_that_follow_each_other_are_not_taken_for_one() {
        let mut patience = patience();
        for process in 1..=49 {
            let left = patience.judge(2 * SECOND, thread(process, SECOND / 5, SECOND * 9 / 5));
            assert!(left.is_some(), "process {process} ran for a tenth of its time");
        }
        assert_eq!(patience.judge(2 * SECOND, thread(50, SECOND / 5, SECOND * 9 / 5)), None);
    }

    #[test]
    fn the_accounts_of_this_process_are_read() {
        let Some(before) = cpu_time(std::process::id()) else {
            return tollgate_testkit::skip!(
                "the kernel does not report the CPU time of a process in schedstat"
            );
        };
        while cpu_time(std::process::id()).unwrap() == before {}
    }
}
