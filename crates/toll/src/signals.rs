//! Signals and the time limit, passed to the command from signal handlers.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::time::Duration;
use std::{mem, ptr};

/// Signals that are passed to the command. Those that this process ignored from the start stay ignored.
const FORWARDED: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

/// How long a command may take to end after SIGTERM; then SIGKILL is sent.
const GRACE: Duration = Duration::from_secs(2);

/// The command's process, as a descriptor that never means another process; -1 while there is none.
static COMMAND: AtomicI32 = AtomicI32::new(-1);
/// How often the command was ended because its time was up.
static ENDED: AtomicU32 = AtomicU32::new(0);
/// Whether a signal that asks for the end has arrived.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Passes signals while it lives.
pub(crate) struct Forwarding {
    before: Vec<(libc::c_int, libc::sigaction)>,
}

impl Forwarding {
    pub(crate) fn start() -> Self {
        ENDED.store(0, Ordering::Relaxed);
        let mut before = Vec::new();
        // SAFETY: actions are plain data that the calls fill or read; the handlers make system calls only.
        unsafe {
            // A parent that ignores SIGCHLD cannot wait for its children.
            for (signal, handler) in FORWARDED
                .map(|signal| (signal, pass as *const () as usize))
                .into_iter()
                .chain([(libc::SIGALRM, time_is_up as *const () as usize), (libc::SIGCHLD, libc::SIG_DFL)])
            {
                let (mut action, mut old): (libc::sigaction, libc::sigaction) = mem::zeroed();
                libc::sigaction(signal, ptr::null(), &mut old);
                if old.sa_sigaction == libc::SIG_IGN && FORWARDED.contains(&signal) {
                    continue;
                }
                action.sa_sigaction = handler;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                libc::sigaction(signal, &action, ptr::null_mut());
                before.push((signal, old));
            }
        }
        Self { before }
    }

    /// From here on signals go to this child, which ends after `limit`.
    pub(crate) fn to(&self, pid: libc::pid_t, limit: Option<Duration>) {
        // SAFETY: a child that has not been waited for.
        let command = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        COMMAND.store(command as libc::c_int, Ordering::Relaxed);
        if let Some(limit) = limit {
            alarm(limit);
        }
    }

    /// Whether a signal that asks for the end has arrived since this process began.
    pub(crate) fn was_interrupted(&self) -> bool {
        INTERRUPTED.load(Ordering::Relaxed)
    }

    /// Whether the command was ended because its time was up.
    pub(crate) fn time_was_up(&self) -> bool {
        ENDED.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        alarm(Duration::ZERO);
        for (signal, action) in &self.before {
            // SAFETY: the action was in force before.
            unsafe { libc::sigaction(*signal, action, ptr::null_mut()) };
        }
        let command = COMMAND.swap(-1, Ordering::Relaxed);
        if command >= 0 {
            // SAFETY: the descriptor is ours, and the handlers no longer use it.
            unsafe { libc::close(command) };
        }
    }
}

/// In the child, before it executes the command: makes system calls only. SIGPIPE is ignored by every Rust program, and
/// SIGXFSZ by this one.
pub(crate) fn restore() {
    // SAFETY: the default actions.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::signal(libc::SIGXFSZ, libc::SIG_DFL);
    }
}

/// One SIGALRM after this time; zero switches it off.
fn alarm(time: Duration) {
    let value =
        libc::timeval { tv_sec: time.as_secs() as libc::time_t, tv_usec: time.subsec_micros().into() };
    let none = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let timer = libc::itimerval { it_interval: none, it_value: value };
    // SAFETY: a valid timer.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, ptr::null_mut()) };
}

fn send(signal: libc::c_int) {
    let command = COMMAND.load(Ordering::Relaxed);
    if command >= 0 {
        // SAFETY: a descriptor of a process; there is no further information. A handler must not change errno.
        unsafe {
            let errno = *libc::__errno_location();
            libc::syscall(libc::SYS_pidfd_send_signal, command, signal, ptr::null::<libc::siginfo_t>(), 0);
            *libc::__errno_location() = errno;
        }
    }
}

/// What a process sends is passed. What the terminal sends goes to the whole foreground group, so the command has it.
extern "C" fn pass(signal: libc::c_int, info: *const libc::siginfo_t, _: *const libc::c_void) {
    if ![libc::SIGUSR1, libc::SIGUSR2].contains(&signal) {
        INTERRUPTED.store(true, Ordering::Relaxed);
    }
    // SAFETY: the kernel passes valid information.
    if unsafe { (*info).si_code } <= 0 {
        send(signal);
    }
}

extern "C" fn time_is_up(_: libc::c_int, _: *const libc::siginfo_t, _: *const libc::c_void) {
    if ENDED.fetch_add(1, Ordering::Relaxed) == 0 {
        send(libc::SIGTERM);
        alarm(GRACE);
    } else {
        send(libc::SIGKILL);
    }
}
