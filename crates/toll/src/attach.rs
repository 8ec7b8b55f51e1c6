//! A process that runs already: its tasks, and its end.

use crate::signals::Signals;
use crate::start::StartError;
use crate::witness::readable;
use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::{Duration, Instant};

/// The process, as a descriptor that never means another one.
pub(crate) struct Process {
    pid: libc::pid_t,
    descriptor: OwnedFd,
}

/// The number of a process, as the command line takes it.
///
/// # Errors
/// A sentence that says where such numbers are from.
pub fn process_id(text: &str) -> Result<libc::pid_t, String> {
    let pid = text.parse().ok().filter(|pid| *pid > 0);
    pid.ok_or_else(|| "the number of a process is wanted, as 'pgrep NAME' prints it".into())
}

impl Process {
    pub(crate) fn open(pid: libc::pid_t) -> Result<Self, StartError> {
        // SAFETY: a number and no flags; nothing else owns the descriptor.
        unsafe {
            let descriptor = libc::syscall(libc::SYS_pidfd_open, pid, 0);
            if descriptor < 0 {
                return Err(StartError::system("find the process of --pid"));
            }
            Ok(Self { pid, descriptor: OwnedFd::from_raw_fd(descriptor as libc::c_int) })
        }
    }

    /// Its threads, and those of its descendants.
    pub(crate) fn tasks(&self) -> Vec<libc::pid_t> {
        let (mut tasks, mut processes) = (Vec::new(), vec![self.pid]);
        while let Some(process) = processes.pop() {
            let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
            for thread in threads {
                tasks.extend(thread.file_name().to_str().and_then(|tid| tid.parse::<libc::pid_t>().ok()));
                let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
                processes
                    .extend(children.split_whitespace().filter_map(|pid| pid.parse::<libc::pid_t>().ok()));
            }
        }
        tasks
    }

    /// Waits for its end, for the end of the time, or for a signal that asks for the end. `tick` is called once in a period, if
    /// there is one, and returns the next.
    pub(crate) fn wait(
        &self,
        signals: &Signals,
        time: Option<Duration>,
        mut period: Option<Duration>,
        mut tick: impl FnMut() -> Option<Duration>,
    ) {
        let started = Instant::now();
        loop {
            let left = time.map(|time| time.saturating_sub(started.elapsed()));
            let wait = [left, period].into_iter().flatten().min();
            let is_over = ready([self.descriptor.as_raw_fd(), signals.end().as_raw_fd()], wait);
            if is_over || left.is_some_and(|left| left.is_zero()) {
                return;
            }
            if period.is_some() {
                period = tick();
            }
        }
    }

    /// Waits for its end at most this time, or until a signal arrives.
    pub(crate) fn ends_within(&self, time: Option<Duration>) -> bool {
        ready([self.descriptor.as_raw_fd()], time)
    }
}

/// Waits at most this time until one of these can be read from, or until a signal arrives.
fn ready<const N: usize>(descriptors: [RawFd; N], time: Option<Duration>) -> bool {
    let time = time.map(|time| libc::timespec {
        tv_sec: time.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: time.subsec_nanos().into(),
    });
    let mut poll = descriptors.map(readable);
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: valid entries; the time is valid or null, and the signals stay as they are.
    unsafe { libc::ppoll(poll.as_mut_ptr(), N as libc::nfds_t, time, ptr::null()) > 0 }
}

/// The command and arguments with which a process was started.
#[must_use]
pub fn command_of(pid: libc::pid_t) -> Vec<String> {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = words.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}
