//! The bench in a worker process.
//!
//! A probe that crashes, hangs or is killed costs its own row only: the supervisor ends the worker with all its
//! processes, and the sampler continues with a new one. A new process for each epoch also has a new address-space
//! layout (unless the command fixes it, for a pair), so what depends on layout shows in the spread between epochs instead of hiding
//! in the figure.

use crate::bench::{Bench, Lost, Reply, Request};
use crate::clock::monotonic_raw_ns;
use crate::samples::ProbeState;
use crate::{Meta, Site};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::slice;
use std::time::{Duration, Instant};
use tollgate_supervise::{Patience, Tree};

/// How often a worker is looked at that may take a moment to leave. One that has thousands of processes to end is
/// ended with them.
const LEAVING_LOOKS: u32 = 1_000;

/// A worker process that answers requests.
pub struct Remote<F> {
    command: F,
    worker: Option<Worker>,
    patience: Duration,
}

struct Worker {
    tree: Tree,
    requests: Option<ChildStdin>,
    replies: ChildStdout,
    buffer: Vec<u8>,
    patience: Patience,
}

impl<F: FnMut() -> Command> Remote<F> {
    /// `command` makes the command that runs [`serve`](crate::worker::serve). A worker that does not answer within
    /// `patience_ms` counts as hung; time in which others kept it from the CPU does not count ([`Patience`]).
    pub fn new(command: F, patience_ms: i32) -> Self {
        let patience = Duration::from_millis(patience_ms.max(0) as u64);
        Self { command, worker: None, patience }
    }

    /// [`Remote::new`] with a worker that has answered.
    ///
    /// # Errors
    /// [`Lost`] when it cannot be used at all, which it says to the first question.
    pub fn started(command: F, patience_ms: i32) -> Result<Self, Lost> {
        let mut remote = Self::new(command, patience_ms);
        remote.restart()?;
        remote.ask(&Request::Moment)?;
        Ok(remote)
    }

    /// Why a probe cannot be opened at this place, and what would enable it. One that ends its process costs a worker.
    ///
    /// # Errors
    /// [`Lost`] when no other worker can be started.
    pub fn obstacle(
        &mut self,
        probe: usize,
        meta: &Meta,
        site: Site,
    ) -> Result<Option<(String, Option<String>)>, Lost> {
        if let ProbeState::Skipped { reason, enable } = ProbeState::new(meta, true, site) {
            return Ok(Some((reason, Some(enable))));
        }
        let answer = match self.ask(&Request::Open { probe }) {
            Ok(Reply::Opened { .. }) => self.ask(&Request::Close { probe }),
            answer => answer,
        };
        Ok(match answer {
            Ok(Reply::Skipped { reason, enable }) => Some((reason, Some(enable))),
            Ok(Reply::Failed { reason }) => Some((reason, None)),
            Ok(_) => None,
            Err(Lost(reason)) => {
                self.restart()?;
                Some((reason, None))
            }
        })
    }
}

impl<F: FnMut() -> Command> Bench for Remote<F> {
    fn ask(&mut self, request: &Request) -> Result<Reply, Lost> {
        self.ask_all(slice::from_ref(request))?.pop().ok_or_else(|| Lost("there was no request".into()))
    }

    fn ask_all(&mut self, requests: &[Request]) -> Result<Vec<Reply>, Lost> {
        let Some(worker) = self.worker.as_mut() else {
            return Err(Lost("there is no worker".into()));
        };
        match worker.ask(requests) {
            Ok(replies) => replies
                .into_iter()
                .map(|reply| match reply {
                    Reply::Unusable { reason } => Err(Lost(reason)),
                    reply => Ok(reply),
                })
                .collect(),
            Err(error) => {
                let fate = worker.end(error.kind() == io::ErrorKind::TimedOut);
                self.worker = None;
                Err(Lost(match (error.kind(), fate) {
                    (io::ErrorKind::TimedOut, _) => {
                        format!(
                            "no answer within {} s; its processes were ended: it hangs (--patience-ms allows more)",
                            self.patience.as_secs_f64()
                        )
                    }
                    (_, Some(fate)) => format!("the worker process {fate}"),
                    _ => format!("the worker process is gone: {error}"),
                }))
            }
        }
    }

    fn restart(&mut self) -> Result<(), Lost> {
        self.pause();
        let command = || {
            let mut command = (self.command)();
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            command
        };
        let mut tree = Tree::start(command, None).map_err(|error| Lost(not_started(&error)))?;
        let (Some(requests), Some(replies)) = (tree.stdin.take(), tree.stdout.take()) else {
            return Err(Lost("the worker process has no pipes".into()));
        };
        let patience = Patience::new(self.patience);
        self.worker = Some(Worker { tree, requests: Some(requests), replies, buffer: Vec::new(), patience });
        Ok(())
    }

    fn pause(&mut self) {
        drop(self.worker.take());
    }

    fn elapsed_ns(&self) -> u64 {
        monotonic_raw_ns()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end(false);
    }
}

impl Worker {
    fn ask(&mut self, requests: &[Request]) -> io::Result<Vec<Reply>> {
        let mut lines = Vec::new();
        for request in requests {
            serde_json::to_writer(&mut lines, request)?;
            lines.push(b'\n');
        }
        self.requests.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(&lines)?;
        requests.iter().map(|_| self.reply()).collect()
    }

    fn reply(&mut self) -> io::Result<Reply> {
        self.patience.renew();
        let (mut asked, mut wait) = (Instant::now(), self.patience.allowed());
        loop {
            if let Some(end) = self.buffer.iter().position(|&byte| byte == b'\n') {
                let reply = serde_json::from_slice(&self.buffer[..end])?;
                self.buffer.drain(..=end);
                return Ok(reply);
            }
            let left = wait.saturating_sub(asked.elapsed()).as_millis().min(i32::MAX as u128);
            let mut poll = libc::pollfd { fd: self.replies.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one valid pollfd.
            match unsafe { libc::poll(&mut poll, 1, left as i32) } {
                0 => {
                    let more = self.patience.after(asked.elapsed(), self.tree.id());
                    wait = more.ok_or(io::ErrorKind::TimedOut)?;
                    asked = Instant::now();
                }
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

    /// Ends the worker with all its processes; says how the worker had ended by itself, if it had.
    fn end(&mut self, hung: bool) -> Option<String> {
        drop(self.requests.take());
        // A worker whose input has ended closes its probes and leaves.
        let looks = if hung { 0 } else { LEAVING_LOOKS };
        let by_itself = (0..looks).any(|_| {
            self.tree.ended().is_some() || {
                std::thread::sleep(Duration::from_millis(1));
                false
            }
        });
        let status = self.tree.end().status;
        by_itself.then(|| fate(status))
    }
}

fn fate(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (_, Some(signal)) => {
            format!("was ended by signal {signal} ({}){}", signal_name(signal), sender(signal))
        }
        _ => "ended".into(),
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
