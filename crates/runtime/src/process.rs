//! Runs a foreign program so that its failure affects only its own row and leaves no process.
//!
//! The supervisor ends it with everything that it started. Its output is read while it runs, so that neither a full
//! pipe nor a flood of lines does harm.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tollgate_supervise::{Patience, Prepare, Tree};

/// The limits of a program.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Milliseconds until it counts as hung; time that it waits for a CPU does not count.
    pub patience_ms: u64,
    /// Lines on its standard output.
    pub lines: usize,
    /// Bytes on its standard output.
    pub bytes: usize,
    /// Resident bytes.
    pub memory: Option<u64>,
    /// The CPU to which it is pinned.
    pub cpu: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { patience_ms: 10_000, lines: 100_000, bytes: 16 << 20, memory: None, cpu: None }
    }
}

/// How a program ended.
#[derive(Clone, Debug, Default)]
pub struct ProgramEnd {
    /// The part of its output that was read.
    pub stdout: Vec<u8>,
    /// The last lines of its standard error, up to 8 KiB.
    pub stderr: Vec<String>,
    /// Why its output is unusable: it hung, crashed, was stopped. `None` if it ended by itself with status 0.
    pub fate: Option<Fate>,
}

/// Why a program did not end by itself with status 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fate {
    /// The user wants to stop.
    #[error("it was stopped")]
    Stopped,
    /// It took too long.
    #[error("no end within {} s; its processes were ended", *.0 as f64 / 1e3)]
    Hung(u64),
    /// It printed more than requested.
    #[error("it printed more than {0} {1}")]
    Flood(usize, &'static str),
    /// It used more memory than allowed.
    #[error("it used {} of memory, above the limit of {}", tollgate_record::number::bytes(*.0 as f64), tollgate_record::number::bytes(*.1 as f64))]
    Memory(u64, u64),
    /// It ended with another status.
    #[error("it ended with status {0}")]
    Status(i32),
    /// A signal ended it.
    #[error("it was ended by signal {0} ({name})", name = signal_name(*.0))]
    Signal(i32),
}

/// The watchdog's interval.
const LOOK: Duration = Duration::from_millis(50);
/// How often the scheduler's accounts are read: a build's processes end, and with them what they waited for a CPU.
const JUDGED: Duration = Duration::from_secs(2);

/// Runs the command to its end, or until it breaks a limit. `stop` ends it early.
///
/// # Errors
/// It cannot be started.
pub fn run(
    mut command: impl FnMut() -> Command,
    limits: &Limits,
    stop: &AtomicBool,
) -> io::Result<ProgramEnd> {
    let command = || {
        let mut command = command();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let prepare = limits.cpu.map(|cpu| Arc::new(move || pin(cpu)) as Prepare);
    let mut running = Running { tree: Tree::start(command, prepare)? };
    running.watch(limits, stop)
}

/// Pins the calling process and reads that back. It must not allocate: after the fork, the thread that
/// holds the allocator's lock may not exist in this process.
fn pin(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let mut wanted = CpuSet::new();
    wanted.set(cpu);
    let moved = sched_setaffinity(None, &wanted);
    // The mask that is read back decides: a process that may run only there is already pinned, even if the call fails.
    if sched_getaffinity(None)? == wanted {
        return Ok(());
    }
    moved?;
    Err(io::Error::from_raw_os_error(libc::EXDEV))
}

struct Running {
    tree: Tree,
}

impl Running {
    fn watch(&mut self, limits: &Limits, stop: &AtomicBool) -> io::Result<ProgramEnd> {
        let (Some(mut out), Some(mut err)) = (self.tree.stdout.take(), self.tree.stderr.take()) else {
            return Err(io::Error::other("the program has no pipes"));
        };
        let mut patience = Patience::new(Duration::from_millis(limits.patience_ms));
        let (mut since, mut wait) = (Instant::now(), patience.allowed().min(JUDGED));
        let mut end = ProgramEnd::default();
        let (mut lines, mut tail, mut open) = (0, Tail::default(), [true, true]);
        loop {
            // The end of a program that has closed its pipes follows at once.
            let closed = open == [false, false];
            let look = if closed { Duration::from_millis(1) } else { LOOK };
            let descriptors = [out.as_raw_fd(), err.as_raw_fd()];
            let mut polls = [0, 1].map(|at| libc::pollfd {
                fd: if open[at] { descriptors[at] } else { -1 },
                events: libc::POLLIN,
                revents: 0,
            });
            // SAFETY: two valid entries.
            let ready = unsafe { libc::poll(polls.as_mut_ptr(), 2, look.as_millis() as i32) };
            if ready < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return Err(io::Error::last_os_error());
            }
            let mut chunk = [0; 16_384];
            if ready > 0 && polls[0].revents != 0 {
                let read = out.read(&mut chunk)?;
                open[0] = read > 0;
                lines += chunk[..read].iter().filter(|byte| **byte == b'\n').count();
                end.stdout.extend_from_slice(&chunk[..read]);
            }
            if ready > 0 && polls[1].revents != 0 {
                let read = err.read(&mut chunk)?;
                open[1] = read > 0;
                tail.add(&chunk[..read]);
            }
            if since.elapsed() > wait {
                // Not the time in which this process did not run either.
                let silent = since.elapsed().min(wait + LOOK);
                wait = patience.after(silent, self.tree.id()).unwrap_or_default().min(JUDGED);
                since = Instant::now();
            }
            let fate = if stop.load(Ordering::Relaxed) {
                Some(Fate::Stopped)
            } else if lines > limits.lines {
                Some(Fate::Flood(limits.lines, "lines"))
            } else if end.stdout.len() > limits.bytes {
                Some(Fate::Flood(limits.bytes, "bytes"))
            } else if let Some(over) = self.over(limits.memory) {
                Some(over)
            } else if wait.is_zero() {
                Some(Fate::Hung(limits.patience_ms))
            } else {
                None
            };
            // The program's end counts, even if a process that it left keeps the pipes open.
            let closed = open == [false, false];
            if fate.is_some() || (closed || ready == 0) && self.tree.ended().is_some() {
                end.stderr = tail.lines();
                let status = self.tree.end().status;
                end.fate = fate.or_else(|| bad_end(status));
                return Ok(end);
            }
        }
    }

    /// Whether more memory is resident than allowed.
    fn over(&self, limit: Option<u64>) -> Option<Fate> {
        let limit = limit?;
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", self.tree.id())).ok()?;
        let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
        // SAFETY: no memory is touched.
        let used = pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
        (used > limit).then_some(Fate::Memory(used, limit))
    }
}

/// The abnormal end of a program; `None` for status 0.
fn bad_end(status: ExitStatus) -> Option<Fate> {
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(Fate::Status(code)),
        (_, signal) => Some(Fate::Signal(signal.unwrap_or(0))),
    }
}

/// The last lines of a stream.
#[derive(Default)]
struct Tail {
    bytes: VecDeque<u8>,
}

impl Tail {
    fn add(&mut self, chunk: &[u8]) {
        const MOST: usize = 8_192;
        self.bytes.extend(chunk);
        let over = self.bytes.len().saturating_sub(MOST);
        self.bytes.drain(..over);
    }

    fn lines(self) -> Vec<String> {
        let bytes: Vec<u8> = self.bytes.into();
        let text = String::from_utf8_lossy(&bytes);
        text.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(Into::into).collect()
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGBUS => "SIGBUS",
        libc::SIGILL => "SIGILL",
        libc::SIGABRT => "SIGABRT",
        libc::SIGTERM => "SIGTERM",
        libc::SIGFPE => "SIGFPE",
        libc::SIGSYS => "SIGSYS, a seccomp filter",
        _ => "see signal(7)",
    }
}
