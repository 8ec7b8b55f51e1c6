//! The bench in a worker process.
//!
//! A probe that crashes, hangs or is killed costs its own row only: the watchdog ends the worker's whole
//! process group and the sampler goes on with a new one. A new process for each epoch also has a new
//! address-space layout, so what depends on layout shows in the spread between epochs instead of hiding
//! in the figure.

use crate::bench::{Bench, Lost, Reply, Request};
use crate::clock::monotonic_raw_ns;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// How long a worker may take to leave. One that has thousands of processes to end is ended with them.
const LEAVE_MS: u32 = 1_000;

/// A worker process that is asked.
pub struct Remote<F> {
    command: F,
    worker: Option<Worker>,
    patience_ms: i32,
}

struct Worker {
    child: Child,
    requests: Option<ChildStdin>,
    replies: ChildStdout,
    buffer: Vec<u8>,
}

impl<F: FnMut() -> Command> Remote<F> {
    /// `command` makes the command that runs [`serve`](crate::worker::serve); a worker that is silent
    /// for `patience_ms` is taken for hung.
    pub fn new(command: F, patience_ms: i32) -> Self {
        Self { command, worker: None, patience_ms }
    }

    /// Ends the worker, if there is one; the next is started by [`Bench::restart`].
    pub fn end(&mut self) {
        if let Some(worker) = self.worker.take() {
            worker.end(false);
        }
    }

    /// Process id of the worker, which is also its process group's.
    pub fn worker_id(&self) -> Option<u32> {
        self.worker.as_ref().map(|worker| worker.child.id())
    }
}

impl<F: FnMut() -> Command> Bench for Remote<F> {
    fn ask(&mut self, request: &Request) -> Result<Reply, Lost> {
        let Some(worker) = self.worker.as_mut() else {
            return Err(Lost("there is no worker".into()));
        };
        match worker.ask(request, self.patience_ms) {
            Ok(Reply::Unusable { reason }) => Err(Lost(reason)),
            Ok(reply) => Ok(reply),
            Err(error) => {
                let fate =
                    self.worker.take().map(|worker| worker.end(error.kind() == io::ErrorKind::TimedOut));
                Err(Lost(match (error.kind(), fate) {
                    (io::ErrorKind::TimedOut, _) => {
                        format!(
                            "no answer within {} s; its processes were ended: it hangs, or other tasks hold \
                             the CPUs ('tollgate doctor' tells)",
                            f64::from(self.patience_ms) / 1e3
                        )
                    }
                    (_, Some(Some(fate))) => format!("the worker process {fate}"),
                    _ => format!("the worker process is gone: {error}"),
                }))
            }
        }
    }

    fn restart(&mut self) -> Result<(), Lost> {
        if let Some(worker) = self.worker.take() {
            worker.end(false);
        }
        // What a worker that is killed leaves behind becomes ours, so that it can be waited for and not
        // only hoped that somebody does.
        // SAFETY: an option of this process that takes an integer.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        let mut command = (self.command)();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(|error| Lost(not_started(&error)))?;
        let (Some(requests), Some(replies)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Lost("the worker process has no pipes".into()));
        };
        self.worker = Some(Worker { child, requests: Some(requests), replies, buffer: Vec::new() });
        Ok(())
    }

    fn elapsed_ns(&self) -> u64 {
        monotonic_raw_ns()
    }
}

impl<F> Drop for Remote<F> {
    fn drop(&mut self) {
        if let Some(worker) = self.worker.take() {
            worker.end(false);
        }
    }
}

impl Worker {
    fn ask(&mut self, request: &Request, patience_ms: i32) -> io::Result<Reply> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        let requests = self.requests.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        requests.write_all(&line)?;
        let deadline = monotonic_raw_ns() + patience_ms as u64 * 1_000_000;
        loop {
            if let Some(end) = self.buffer.iter().position(|&byte| byte == b'\n') {
                let reply = serde_json::from_slice(&self.buffer[..end])?;
                self.buffer.drain(..=end);
                return Ok(reply);
            }
            let left = deadline.saturating_sub(monotonic_raw_ns()) / 1_000_000;
            let mut poll = libc::pollfd { fd: self.replies.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one valid pollfd.
            match unsafe { libc::poll(&mut poll, 1, left as i32) } {
                0 => return Err(io::ErrorKind::TimedOut.into()),
                -1 => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
                _ => {
                    let mut chunk = [0; 16_384];
                    match self.replies.read(&mut chunk)? {
                        0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                        read => self.buffer.extend_from_slice(&chunk[..read]),
                    }
                }
            }
        }
    }

    /// Ends the worker and everything in its process group; says how the worker had ended by itself, if
    /// it had.
    fn end(mut self, hung: bool) -> Option<String> {
        drop(self.requests.take());
        // A worker whose input has ended closes its probes and leaves; it is given a moment.
        let by_itself = !hung
            && (0..LEAVE_MS).any(|_| {
                self.has_ended() || {
                    pause();
                    false
                }
            });
        // SAFETY: signals the process group that was made for this worker. The worker has not been
        // reaped yet, so its id, which is the group's, cannot have been given to another.
        unsafe { libc::kill(-(self.child.id() as i32), libc::SIGKILL) };
        let group = self.child.id() as i32;
        let status = self.child.wait();
        collect(group);
        let status = status.ok()?;
        by_itself.then(|| match (status.code(), status.signal()) {
            (Some(code), _) => format!("ended with status {code}"),
            (_, Some(signal)) => {
                format!("was ended by signal {signal} ({}){}", signal_name(signal), sender(signal))
            }
            _ => "ended".into(),
        })
    }

    /// Whether the worker has ended; it is left unreaped.
    fn has_ended(&self) -> bool {
        // SAFETY: siginfo_t is plain data for which all zeroes is valid.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: `info` is valid for writing, and the process is our child.
        unsafe { libc::waitid(libc::P_PID, self.child.id(), &mut info, options) == 0 && info.si_pid() != 0 }
    }
}

/// Waits for what was left of a process group that has been killed. A process that the kernel cannot end
/// at once (it waits for a device) is not waited for longer than a few seconds.
fn collect(group: i32) {
    let mut pauses = 0;
    while pauses < 5_000 {
        // SAFETY: no status is asked for. __WALL, because peers of a ring do not signal by SIGCHLD.
        match unsafe { libc::waitpid(-group, std::ptr::null_mut(), libc::WNOHANG | libc::__WALL) } {
            0 => {
                pauses += 1;
                pause();
            }
            -1 => return,
            _ => {}
        }
    }
}

/// Why there is no worker, and what to do.
fn not_started(error: &io::Error) -> String {
    let remedy = match error.raw_os_error() {
        Some(libc::EAGAIN) => "; raise the limit on processes with `ulimit -u`, or the cgroup's pids.max",
        Some(libc::EMFILE) => "; raise the limit on open files with `ulimit -n`",
        Some(libc::ENFILE) => "; the system's table of open files is full: close programs",
        Some(libc::ENOMEM) => "; free some memory",
        Some(libc::EPERM | libc::EACCES | libc::ENOSYS) => {
            "; run outside the sandbox (a seccomp filter or security module) that refuses new processes"
        }
        _ => "",
    };
    format!("the worker process could not be started: {error}{remedy}")
}

fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(1));
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGBUS => "SIGBUS",
        libc::SIGILL => "SIGILL",
        libc::SIGABRT => "SIGABRT",
        libc::SIGTERM => "SIGTERM",
        libc::SIGSYS => "SIGSYS",
        libc::SIGXFSZ => "SIGXFSZ",
        _ => "see signal(7)",
    }
}

/// Who sends such a signal, and what to do, where that is known.
fn sender(signal: i32) -> &'static str {
    match signal {
        libc::SIGKILL => ", by somebody, or by the kernel when the memory that it may have was used up",
        libc::SIGSYS => {
            ": a seccomp filter ends whoever makes a call that it forbids; run outside of it, or let it refuse the call \
             (SystemCallErrorNumber=EPERM in a systemd unit)"
        }
        _ => "",
    }
}
