//! The kernel's accounts of one run of a command, and its end.

use crate::events::EventCounts;
use crate::launch::Used;
use std::fs;
use std::time::Duration;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It exited with this status.
    Exited(i32),
    /// A signal killed it.
    Killed(i32),
    /// Its time was up, and it was ended.
    TimeUp,
    /// It was only watched for some time.
    Watched,
}

impl End {
    /// The exit status that a shell would give it; 124 after the time is up, as `timeout` does.
    #[must_use]
    pub fn exit_status(self) -> u8 {
        match self {
            Self::Exited(status) => status as u8,
            Self::Killed(signal) => 128 + signal as u8,
            Self::TimeUp => 124,
            Self::Watched => 0,
        }
    }
}

/// The kernel's accounts of one run of a command, including its processes that ended before it and were waited for.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    /// How it ended.
    pub end: End,
    /// From its start to its end.
    pub wall: Duration,
    /// CPU time.
    pub cpu: Duration,
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Page faults without a device.
    pub minor_faults: u64,
    /// Page faults that waited for a device.
    pub major_faults: u64,
    /// Switches to another task because this one waited.
    pub voluntary_switches: u64,
    /// Switches to another task because the scheduler decided so.
    pub involuntary_switches: u64,
    /// Page faults by the accounts alone; those above are by events where these can be counted.
    pub accounted_faults: u64,
    /// CPU time of all that it started, also of what nobody waited for, where events count it.
    pub tree_cpu: Option<Duration>,
    /// Moves to another CPU, where they were counted.
    pub migrations: Option<u64>,
    /// Loads that missed the first data cache, where the processor counts them.
    pub misses: Option<u64>,
    /// The largest resident set of one of its processes, in bytes; unknown below that of this process, which the kernel
    /// keeps for the command over the execution.
    pub resident_bytes: Option<u64>,
}

impl Account {
    pub(crate) fn new(
        end: End,
        wall: Duration,
        usage: &libc::rusage,
        before: &Used,
        events: Option<EventCounts>,
    ) -> Self {
        // SAFETY: rusage is plain data that the call fills.
        let own_kib = unsafe {
            let mut own: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &mut own);
            own.ru_maxrss
        };
        let time = |it: libc::timeval| Duration::new(it.tv_sec as u64, it.tv_usec as u32 * 1_000);
        Self {
            end,
            wall,
            cpu: (time(usage.ru_utime) + time(usage.ru_stime)).saturating_sub(before.cpu),
            user: time(usage.ru_utime),
            system: time(usage.ru_stime),
            // The accounts contain the faults of the child before it executed the command; the events do not.
            minor_faults: events.map_or(usage.ru_minflt as u64, |events| events.minor_faults),
            major_faults: events.map_or(usage.ru_majflt as u64, |events| events.major_faults),
            accounted_faults: (usage.ru_minflt + usage.ru_majflt) as u64,
            tree_cpu: events.map(|events| Duration::from_nanos(events.cpu_ns)),
            migrations: events.map(|events| events.migrations),
            misses: events.and_then(|events| events.misses),
            voluntary_switches: (usage.ru_nvcsw as u64).saturating_sub(before.voluntary_switches),
            involuntary_switches: (usage.ru_nivcsw as u64).saturating_sub(before.involuntary_switches),
            resident_bytes: Some(usage.ru_maxrss).filter(|kib| *kib > own_kib).map(|kib| kib as u64 * 1024),
        }
    }

    /// Of a process of which this one is not the parent: only the time is known.
    pub(crate) fn of_other(wall: Duration) -> Self {
        // SAFETY: rusage is plain data for which all zeroes is valid.
        let usage = unsafe { std::mem::zeroed() };
        Self::new(End::Watched, wall, &usage, &Used::default(), None)
    }

    /// The share of user mode in the CPU time.
    #[must_use]
    pub fn user_share(&self) -> f64 {
        let all = (self.user + self.system).as_secs_f64();
        if all > 0.0 { self.user.as_secs_f64() / all } else { 0.0 }
    }

    /// The 95 % interval of the CPU time in user mode, in nanoseconds. Most kernels sample at each tick in which mode a
    /// task is, so that the share is that of a number of draws (Wilson's interval).
    #[must_use]
    pub fn user_interval(&self, tick: Duration) -> [f64; 2] {
        const Z: f64 = 1.96;
        let cpu = self.cpu.as_nanos() as f64;
        let ticks = cpu / (tick.as_nanos() as f64).max(1.0);
        if ticks <= 0.0 {
            return [0.0, cpu];
        }
        let share = self.user_share();
        let (spread, middle) = (Z * Z / ticks, share + Z * Z / (2.0 * ticks));
        let half = Z * (share * (1.0 - share) / ticks + spread / (4.0 * ticks)).sqrt();
        [(middle - half) / (1.0 + spread) * cpu, (middle + half) / (1.0 + spread) * cpu]
    }
}

/// The period of the kernel's tick, which is the resolution of its coarse clock.
pub(crate) fn tick() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is valid for the call to fill.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// What the hypervisor has taken from all CPUs of this machine until now; `None` where it says nothing (proc(5), `/proc/stat`).
pub(crate) fn stolen() -> Option<Duration> {
    stolen_in(&fs::read_to_string("/proc/stat").ok()?)
}

fn stolen_in(stat: &str) -> Option<Duration> {
    // user nice system idle iowait irq softirq steal, in periods of USER_HZ, which is 100 on every architecture we build for.
    let steal: u64 = stat.strip_prefix("cpu ")?.lines().next()?.split_whitespace().nth(7)?.parse().ok()?;
    (steal > 0).then(|| Duration::from_millis(steal.saturating_mul(10)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_hypervisor_took_is_in_the_first_line() {
        let of =
            |steal: &str| stolen_in(&format!("cpu  1 2 3 4 5 6 7 {steal} 0 0\ncpu0 1 2 3 4 5 6 7 9 0 0\n"));
        assert_eq!(of("8"), Some(Duration::from_millis(80)));
        assert_eq!((of("0"), of("x"), stolen_in("")), (None, None, None));
    }

    fn account(user_ms: u64, system_ms: u64) -> Account {
        // SAFETY: rusage is plain data for which all zeroes is valid.
        let usage = unsafe { std::mem::zeroed() };
        let mut account =
            Account::new(End::Exited(0), Duration::from_secs(1), &usage, &Used::default(), None);
        (account.user, account.system) = (Duration::from_millis(user_ms), Duration::from_millis(system_ms));
        account.cpu = account.user + account.system;
        account
    }

    #[test]
    fn a_share_of_few_ticks_has_a_wide_interval() {
        let tick = Duration::from_millis(4);
        // Wilson, 95 %: 0 of 2 is 0 to 0.658, 50 of 100 is 0.404 to 0.596.
        let [low, high] = account(0, 8).user_interval(tick);
        assert!(low.abs() < 1.0 && (high / 8e6 - 0.658).abs() < 0.001, "{low} {high}");
        let [low, high] = account(200, 200).user_interval(tick);
        assert!((low / 4e8 - 0.404).abs() < 0.001 && (high / 4e8 - 0.596).abs() < 0.001, "{low} {high}");
    }

    #[test]
    fn a_command_that_used_no_cpu_time_has_no_interval() {
        assert_eq!(account(0, 0).user_interval(Duration::from_millis(4)), [0.0, 0.0]);
    }

    #[test]
    fn statuses_are_those_of_a_shell_and_of_timeout() {
        let status = |end: End| end.exit_status();
        assert_eq!([End::Exited(3), End::Killed(9), End::TimeUp].map(status), [3, 137, 124]);
    }
}
