//! `getppid` of a traced process, which stops for its tracer at each call.

use super::taxed::taxed;
use crate::crossing::filtered::{ALLOW, IS, LOAD, NUMBER, answer, op};
use crate::mechanism::{Mechanism, Opened};
use crate::syscall::{GETPPID, ROW, raw};
use crate::task::{Mapping, Zeroed, process, refusal, task_refusal};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{io, mem, ptr};
use tollgate_measure::{Claim, Crossing, Meta, Probe, Refusal};

const PROOF: &[Claim] =
    &[Claim::exact("calls-per-syscall"), Claim { per_crossing: 2.0, ..Claim::exact("stops-per-syscall") }];

pub(super) static SYSCALL: Mechanism = Mechanism {
    meta: &Meta {
        id: "interpose/ptrace",
        what: "getppid of a process that stops for its tracer before and after each call",
        proof: PROOF,
        ..ROW
    },
    open: |_, site| taxed(open(Kind::Syscalls), GETPPID.open(site), [2, 1]),
};

pub(super) static SECCOMP: Mechanism = Mechanism {
    meta: &Meta {
        id: "interpose/ptrace-seccomp",
        what: "getppid of a process that a seccomp filter stops once for its tracer",
        proof: const { &[Claim::exact("calls-per-syscall"), Claim::exact("stops-per-syscall")] },
        ..ROW
    },
    open: |_, site| taxed(open(Kind::Filter), GETPPID.open(site), [2, 1]),
};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Stops before and after each call.
    Syscalls,
    /// Stops where the filter says so.
    Filter,
}

#[derive(Default)]
struct Calls(AtomicU64);

// SAFETY: an atomic integer.
unsafe impl Zeroed for Calls {}

struct Tracee {
    pid: libc::pid_t,
    kind: Kind,
    calls: Mapping<Calls>,
    proved: u64,
    stops: u64,
}

fn open(kind: Kind) -> Opened {
    let calls = Mapping::<Calls>::new(1)?;
    let filter = [
        op(LOAD, 0, 0, NUMBER),
        op(IS, 0, 1, libc::SYS_getppid as u32),
        answer(libc::SECCOMP_RET_TRACE),
        ALLOW,
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    let child = || {
        // SAFETY: async-signal-safe calls; the filter lives.
        unsafe {
            if libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) != 0 {
                libc::_exit(REFUSED);
            }
            if kind == Kind::Filter
                && (libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                    || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0)
            {
                libc::_exit(NO_FILTER);
            }
            libc::kill(libc::getpid(), libc::SIGSTOP);
            loop {
                raw::call0(libc::SYS_getppid);
                calls[0].0.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    // SAFETY: the child allocates nothing and makes only async-signal-safe calls. It dies with this thread.
    let pid = unsafe { process::fork(&[libc::SIGCHLD], [None, None], child) }
        .map_err(|error| task_refusal("fork", &error))?;
    let mut tracee = Tracee { pid, kind, calls, proved: 0, stops: 0 };
    tracee.start()?;
    Ok(Box::new(tracee))
}

/// The child's exit status if it may not be traced, or may not have a filter.
const REFUSED: i32 = 1;
const NO_FILTER: i32 = 2;

impl Tracee {
    /// Lets the child run to its first call.
    fn start(&mut self) -> Result<(), Refusal> {
        let status = self.stopped()?;
        if libc::WIFEXITED(status) {
            return Err(match libc::WEXITSTATUS(status) {
                NO_FILTER => Refusal::skip(
                    "a seccomp filter cannot be installed",
                    "a kernel with CONFIG_SECCOMP_FILTER, outside a sandbox that refuses further filters",
                ),
                _ => Refusal::skip(
                    "a child may not be traced here",
                    "run outside the sandbox that refuses ptrace",
                ),
            });
        }
        let options = libc::PTRACE_O_EXITKILL
            | match self.kind {
                Kind::Syscalls => libc::PTRACE_O_TRACESYSGOOD,
                Kind::Filter => libc::PTRACE_O_TRACESECCOMP,
            };
        self.request(libc::PTRACE_SETOPTIONS, options as usize)?;
        // The stop before a call is the one before which the count of calls grew; the first such is soon.
        for _ in 0..64 {
            let before = self.calls();
            self.resume()?;
            if self.calls() > before {
                if self.kind == Kind::Syscalls {
                    self.resume()?;
                }
                (self.proved, self.stops) = (self.calls(), 0);
                return Ok(());
            }
        }
        Err(Refusal::Failed("the traced process makes no call".into()))
    }

    fn calls(&self) -> u64 {
        self.calls[0].0.load(Ordering::Relaxed)
    }

    fn request(&self, request: libc::c_uint, data: usize) -> Result<(), Refusal> {
        // SAFETY: the child is ours and stopped; requests with an integer.
        match unsafe { libc::ptrace(request, self.pid, ptr::null_mut::<libc::c_void>(), data) } {
            0 => Ok(()),
            _ => Err(refusal("ptrace", &io::Error::last_os_error())),
        }
    }

    fn stopped(&self) -> Result<i32, Refusal> {
        let mut status = 0;
        loop {
            // SAFETY: the status is a valid integer.
            if unsafe { libc::waitpid(self.pid, &mut status, libc::__WALL) } == self.pid {
                return Ok(status);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(refusal("waitpid", &error));
            }
        }
    }

    /// Lets the child run to its next stop.
    #[inline]
    fn resume(&mut self) -> Result<(), Refusal> {
        let (request, stop) = match self.kind {
            Kind::Syscalls => (libc::PTRACE_SYSCALL, libc::SIGTRAP | 0x80),
            Kind::Filter => (libc::PTRACE_CONT, libc::SIGTRAP | libc::PTRACE_EVENT_SECCOMP << 8),
        };
        self.request(request, 0)?;
        match self.stopped()? {
            status if libc::WIFSTOPPED(status) => {
                self.stops += u64::from(status >> 8 == stop);
                Ok(())
            }
            status => Err(Refusal::Failed(format!("the traced process ended with wait status {status:#x}"))),
        }
    }
}

impl Crossing for Tracee {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        let stops = if self.kind == Kind::Syscalls { 2 } else { 1 };
        (0..passes * stops).try_for_each(|_| self.resume())
    }

    /// The child is stopped in its last call, which it counts when it continues, as it counted the one before the first.
    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        let calls = self.calls();
        counts[0] = Some(calls - mem::replace(&mut self.proved, calls));
        counts[1] = Some(mem::take(&mut self.stops));
        Ok(())
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        process::kill(self.pid);
        process::reap(self.pid);
    }
}
