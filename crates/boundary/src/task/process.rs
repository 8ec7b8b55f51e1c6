//! Child processes that cannot outlive this one.

use super::{refusal::refusal, signals::AllBlocked};
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};
use std::{io, mem, os::fd::RawFd, ptr};
use tollgate_measure::Refusal;

/// Forks. The child blocks every signal, dies when the calling thread does, closes every descriptor from
/// 3 on but those to `keep`, runs `child` and exits. Its exit signal is the first of `exit_signals` that the system
/// accepts: an emulator of one program accepts SIGCHLD only.
///
/// The system call is made directly: the C library's `fork` always asks for SIGCHLD.
///
/// # Safety
/// `child` runs with other threads' locks in whatever state they were: it must be async-signal-safe and
/// allocate nothing.
pub(crate) unsafe fn fork(
    exit_signals: &[i32],
    keep: [Option<RawFd>; 2],
    child: impl FnOnce(),
) -> io::Result<libc::pid_t> {
    // SAFETY: no arguments.
    let parent = unsafe { libc::getpid() };
    let blocked = AllBlocked::new();
    // SAFETY: the child does only what the caller promises for it.
    let mut pid = unsafe { clone(exit_signals[0]) };
    for &exit_signal in &exit_signals[1..] {
        if pid < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL) {
            // SAFETY: as above.
            pid = unsafe { clone(exit_signal) };
        }
    }
    if pid == 0 {
        // SAFETY: integers only. If the parent died before the first call took effect, the second one shows another
        // parent.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() == parent {
                close_all_but(keep);
                child();
            }
            libc::_exit(0)
        }
    }
    let error = io::Error::last_os_error();
    drop(blocked);
    if pid < 0 { Err(error) } else { Ok(pid) }
}

/// The system call of a fork, without what the C library does around it: 0 in the child, -1 with errno on
/// failure. The child's exit signal is `exit_signal`.
///
/// # Safety
/// As for [`fork`], for the child's code from here on.
#[inline]
pub(crate) unsafe fn clone(exit_signal: i32) -> libc::pid_t {
    let (flags, none) = (libc::c_long::from(exit_signal), 0 as libc::c_long);
    // SAFETY: without CLONE_VM this is a fork: both sides go on with their own copy of this stack. s390
    // alone takes the stack before the flags.
    let pid = unsafe {
        #[cfg(not(target_arch = "s390x"))]
        let pid = libc::syscall(libc::SYS_clone, flags, none, none, none, none);
        #[cfg(target_arch = "s390x")]
        let pid = libc::syscall(libc::SYS_clone, none, flags, none, none, none);
        pid
    };
    pid as libc::pid_t
}

/// Closes the descriptors from 3 on, but not `keep`. Kernels before 5.9 do not have the call; then only the signal of a
/// dead peer is noticed, not the end of the pipe.
fn close_all_but(keep: [Option<RawFd>; 2]) {
    let close = |from: RawFd, to: RawFd| {
        if from <= to {
            // SAFETY: closes descriptors that this process does not use.
            unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) };
        }
    };
    let [one, other] = keep.map(|fd| fd.unwrap_or(2));
    let (low, high) = (one.min(other), one.max(other));
    close(3, low.saturating_sub(1));
    close(low.max(2).saturating_add(1), high.saturating_sub(1));
    close(high.max(2).saturating_add(1), RawFd::MAX);
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It exited.
    ByItself,
    /// A signal ended it.
    Killed,
    /// Its state cannot be read.
    Unknown,
}

/// An error that says how the child ended, if it has.
pub(crate) fn check_alive(pid: libc::pid_t) -> Result<(), (Ended, Refusal)> {
    // SAFETY: siginfo_t is plain data.
    let mut info: libc::siginfo_t = unsafe { mem::zeroed() };
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
    // SAFETY: the structure is valid; WNOWAIT leaves the child to be reaped later.
    if unsafe { libc::waitid(libc::P_PID, pid as libc::id_t, &mut info, how) } != 0 {
        return Err((Ended::Unknown, refusal("waitid", &io::Error::last_os_error())));
    }
    // SAFETY: waitid fills these fields, or leaves them zero when the child is alive.
    let (ended, status) = unsafe { (info.si_pid() != 0, info.si_status()) };
    let (ended, how) = match (ended, info.si_code) {
        (false, _) => return Ok(()),
        (true, libc::CLD_EXITED) => (Ended::ByItself, format!("ended by itself, exit status {status}")),
        _ => (Ended::Killed, format!("was killed by signal {status}")),
    };
    Err((ended, Refusal::Failed(format!("the peer process {pid} {how}"))))
}

/// Kills the child, which is not yet reaped.
pub(crate) fn kill(pid: libc::pid_t) {
    // SAFETY: integers only; the number is still the child's, because it has not been reaped.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// Waits for the end of the child.
pub(crate) fn reap(pid: libc::pid_t) {
    loop {
        // SAFETY: no status is asked for. __WALL, because its exit signal is not SIGCHLD.
        let reaped = unsafe { libc::waitpid(pid, ptr::null_mut(), libc::__WALL) };
        if reaped == pid || io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return;
        }
    }
}

/// The wait status of the child, once it has ended. For children whose exit signal is SIGCHLD.
#[inline]
pub(crate) fn wait(pid: libc::pid_t) -> io::Result<i32> {
    let mut how = 0;
    loop {
        // SAFETY: the status is a valid integer.
        if unsafe { libc::waitpid(pid, &mut how, 0) } == pid {
            return Ok(how);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// The wait status of a child that exits with what `act` returns, or the call that failed.
///
/// # Safety
/// As for [`fork`].
pub(crate) unsafe fn status_of(act: impl FnOnce() -> i32) -> Result<i32, (&'static str, io::Error)> {
    // SAFETY: the caller's promise; the child ends without running anything of the parent's.
    let child = unsafe { fork(&[libc::SIGCHLD], [None, None], || libc::_exit(act())) };
    wait(child.map_err(|error| ("fork", error))?).map_err(|error| ("waitpid", error))
}

/// Asks that the calling task run on `cpu` only. Async-signal-safe.
pub(crate) fn move_to(cpu: usize) -> Result<(), libc::c_int> {
    let wanted = only(cpu).ok_or(libc::EINVAL)?;
    match sched_setaffinity(None, &wanted) {
        // A task that may run only there is there, even if the call is refused.
        Err(error) if sched_getaffinity(None) != Ok(wanted) => Err(error.raw_os_error()),
        _ => Ok(()),
    }
}

/// Moves a thread to the CPU of its maker, to end there. On Linux 6.18 one that was preempted while it ended beside a fork loop did not
/// run again for seconds, and whoever reaped its process spun in the kernel meanwhile: quick runs took up to 11 s.
pub(crate) fn end_on(home: Option<usize>) {
    // Where the call is refused, it ends where it is.
    let _ = home.map(move_to);
}

/// Reads back that the task may run on `cpu` and nowhere else.
pub(crate) fn check_pin(thread: libc::pid_t, cpu: usize) -> Result<(), Refusal> {
    let got = sched_getaffinity(Pid::from_raw(thread))
        .map_err(|error| Refusal::of("reading back a peer's pin", &error.into()))?;
    match only(cpu) == Some(got) {
        true => Ok(()),
        false => Err(Refusal::Failed(format!("a peer task is not pinned to cpu {cpu}"))),
    }
}

/// The set of one CPU; `None` if no set can contain it.
fn only(cpu: usize) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    (cpu < CpuSet::MAX_CPU).then(|| set.set(cpu))?;
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use tollgate_measure::placement;

    #[test]
    fn a_thread_of_another_cpu_ends_where_its_maker_runs() {
        let [home, away, ..] = placement::allowed().unwrap()[..] else {
            return tollgate_testkit::skip!("only one CPU may be used");
        };
        let peer = move || {
            placement::pin(away).unwrap();
            end_on(Some(home));
            placement::current()
        };
        assert_eq!(thread::spawn(peer).join().unwrap(), Some(home));
    }
}
