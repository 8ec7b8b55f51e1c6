//! Watches a command from its start to its end, with the manners of `env`, `timeout` and `perf stat`.

use crate::account::{Account, End};
use crate::attach::Process;
use crate::events::Events;
use crate::launch::{Prepare, Waiting};
use crate::signals::Signals;
use crate::start::StartError;
use std::ffi::OsString;
use std::time::{Duration, Instant};
use std::{io, mem};

/// Limits that end a command.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// SIGTERM is sent after this time.
    pub time: Option<Duration>,
}

impl Limits {
    /// A time with its unit, as the command line takes it.
    ///
    /// # Errors
    /// A sentence that says what a time looks like.
    pub fn time(text: &str) -> Result<Duration, String> {
        const UNITS: [(&str, f64); 4] = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
        let seconds = UNITS.iter().find_map(|(unit, scale)| {
            text.strip_suffix(unit)?.parse().ok().map(|number: f64| number * scale)
        });
        let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        time.filter(|time| !time.is_zero())
            .ok_or_else(|| "a time is a number and its unit, for example 10s, 500ms or 2m".into())
    }
}

/// A counter of a running command.
pub(crate) trait Counter {
    /// Preparation in the child before it executes the command.
    fn prepare(&self) -> Prepare<'_> {
        &|| Ok(())
    }

    /// The child `pid` is there and waits.
    fn attach(&mut self, _pid: libc::pid_t) -> Result<(), StartError> {
        Ok(())
    }

    /// A child other than the command changed its state, or the command itself without ending.
    fn changed(&mut self, _pid: libc::pid_t, _status: libc::c_int) {}

    /// Whether it is the tracer of the command.
    fn traces(&self) -> bool {
        false
    }

    /// How long until [`Counter::sample`] is due, if it is to be called while the command runs.
    fn period(&self) -> Option<Duration> {
        None
    }

    /// A period has passed. Only for a counter that stops no task: nothing else is watched meanwhile.
    fn sample(&mut self) {}

    /// The command has ended.
    fn ended(&mut self, _pid: libc::pid_t) {}
}

/// Counts nothing.
pub(crate) struct Uncounted;

impl Counter for Uncounted {}

/// Runs a command to its end while `counter` counts.
pub(crate) fn watch(
    command: &[OsString],
    limits: Limits,
    counter: &mut dyn Counter,
) -> Result<Account, StartError> {
    let signals = Signals::hold()?;
    let mut waiting = Waiting::start(command, signals.inherited(), counter.prepare())?;
    let pid = waiting.pid;
    let attached = counter.attach(pid);
    if attached.is_err() || signals.was_interrupted() {
        drop(waiting);
        // SAFETY: a child that ends because it was not released; no status is wanted.
        unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL) };
        counter.ended(pid);
        return Err(attached.err().unwrap_or(StartError::Interrupted));
    }
    let mut events = Events::open(pid);
    let before = waiting.settled();
    let forwarding = signals.forward_to(pid, limits.time);
    let started = Instant::now();
    waiting.release();
    let mut sampling = Sampling::start(pid, counter);
    loop {
        let is_sampled = sampling.as_mut().is_some_and(|sampling| !sampling.ends_before_next(counter));
        // A tracer learns of stops in any case.
        let stops = if counter.traces() { 0 } else { libc::WUNTRACED };
        let changed = next_change(stops | if is_sampled { libc::WNOHANG } else { 0 });
        let Some((changed, status, usage)) = changed else {
            if is_sampled {
                continue;
            }
            let error = StartError::system("wait for the command");
            counter.ended(pid);
            return Err(error);
        };
        if changed != pid || !(libc::WIFEXITED(status) || libc::WIFSIGNALED(status)) {
            counter.changed(changed, status);
            if let Some(signal) = stopped_by(status, counter.traces()).filter(|_| changed == pid) {
                signals.stop_with(pid, signal);
            }
            continue;
        }
        let wall = started.elapsed();
        counter.ended(pid);
        if let Some(error) = waiting.error() {
            return Err(error);
        }
        let end = if forwarding.time_was_up() {
            End::TimeUp
        } else if libc::WIFSIGNALED(status) {
            End::Killed(libc::WTERMSIG(status))
        } else {
            End::Exited(libc::WEXITSTATUS(status))
        };
        let events = events.as_mut().and_then(Events::read);
        return Ok(Account::new(end, wall, &usage, &before, events));
    }
}

/// The signal by which a process is stopped. A traced one stops also when a signal is about to be delivered.
fn stopped_by(status: libc::c_int, is_traced: bool) -> Option<libc::c_int> {
    let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
    let is_stop = match is_traced {
        true => event == libc::PTRACE_EVENT_STOP && signal != libc::SIGTRAP,
        false => event == 0,
    };
    (libc::WIFSTOPPED(status) && is_stop).then_some(signal)
}

/// When the counter is to sample.
struct Sampling {
    process: Process,
    period: Duration,
    due: Instant,
}

impl Sampling {
    fn start(pid: libc::pid_t, counter: &dyn Counter) -> Option<Self> {
        let period = counter.period()?;
        Some(Self { process: Process::open(pid).ok()?, period, due: Instant::now() + period })
    }

    /// Waits until the next sample was taken, or the command has ended.
    fn ends_before_next(&mut self, counter: &mut dyn Counter) -> bool {
        while !self.process.ends_within(Some(self.due.saturating_duration_since(Instant::now()))) {
            // A signal ends the waiting early.
            if Instant::now() < self.due {
                continue;
            }
            counter.sample();
            self.period = counter.period().unwrap_or(self.period);
            // Periods that passed meanwhile are left out.
            self.due = (self.due + self.period).max(Instant::now());
            return false;
        }
        true
    }
}

/// The next child of this thread that has changed its state, or a task that it traces, with its usage if it has ended.
pub(crate) fn next_change(options: libc::c_int) -> Option<(libc::pid_t, libc::c_int, libc::rusage)> {
    // SAFETY: the usage is plain data; both are valid for writing.
    unsafe {
        let (mut status, mut usage) = (0, mem::zeroed());
        loop {
            let pid = libc::wait4(-1, &mut status, options | libc::__WALL | libc::__WNOTHREAD, &mut usage);
            if pid >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                break (pid > 0).then_some((pid, status, usage));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Refused;

    impl Counter for Refused {
        fn prepare(&self) -> Prepare<'_> {
            &|| Err(io::Error::from_raw_os_error(libc::EPERM))
        }
    }

    #[test]
    fn what_counting_needs_is_not_the_fault_of_the_command() {
        let error = watch(&["true".into()], Limits::default(), &mut Refused).unwrap_err();
        assert_eq!(error.exit_status(), 125, "{error}");
        let error = watch(&["/".into()], Limits::default(), &mut Uncounted).unwrap_err();
        assert_eq!(error.exit_status(), 126, "{error}");
    }

    #[test]
    fn a_time_has_a_unit() {
        for (text, ms) in [("10s", 10_000), ("500ms", 500), ("2m", 120_000), ("0.5s", 500), ("1h", 3_600_000)]
        {
            assert_eq!(Limits::time(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for wrong in ["", "10", "s", "-1s", "0s", "1e400s", "NaNs", "ten s"] {
            assert!(Limits::time(wrong).is_err(), "{wrong}");
        }
    }
}
