//! A foreign program, run so that whatever it does costs its own row only and leaves nothing behind.
//!
//! It has a process group of its own and asks the kernel to be killed when we are. Its output is read while it
//! runs, so that neither a full pipe nor a flood of lines gets anywhere. When it has ended, or has to, its group
//! is killed, and then whatever carries its mark in its environment: what left the group is ours all the same.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a program may do.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Milliseconds until it is taken for hung.
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

/// What became of a program.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// What it printed, as far as it was read.
    pub stdout: Vec<u8>,
    /// The last lines of its standard error.
    pub stderr: Vec<String>,
    /// Why its output is worth nothing, as a clause: it hung, crashed, was stopped. `None` when it ended by itself
    /// with status 0.
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
    /// It printed more than it was asked for.
    #[error("it printed more than the {0} {1} that were asked for")]
    Flood(usize, &'static str),
    /// It used more memory than it may.
    #[error("it used {} of memory where {} were allowed", tollgate_record::number::bytes(*.0 as f64), tollgate_record::number::bytes(*.1 as f64))]
    Memory(u64, u64),
    /// It left with another status.
    #[error("it ended with status {0}")]
    Status(i32),
    /// A signal ended it.
    #[error("it was ended by signal {0} ({name})", name = signal_name(*.0))]
    Signal(i32),
}

/// Lines of standard error that are kept.
const LAST_LINES: usize = 8;
/// How often the watchdog looks.
const LOOK: Duration = Duration::from_millis(50);
/// The name of the mark in the environment.
const MARK: &str = "TOLLGATE_RUNTIME_OF";

static STARTED: AtomicU64 = AtomicU64::new(0);

/// Runs the command to its end, or to the end of patience. `stop` ends it early.
///
/// # Errors
/// It could not be started.
pub fn run(mut command: Command, limits: &Limits, stop: &AtomicBool) -> io::Result<Done> {
    let mark = format!("{}.{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
    command.env(MARK, &mark).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (cpu, parent) = (limits.cpu, std::process::id());
    // SAFETY: between fork and exec only system calls are made, on memory of this frame.
    unsafe { command.pre_exec(move || settle(cpu, parent)) };
    // What outlives its parent becomes ours and can be waited for.
    // SAFETY: an option of this process that takes an integer.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    let child = command.spawn()?;
    let mut running = Running { child, mark, status: None };
    let done = running.watch(limits, stop);
    running.end();
    done
}

/// In the new process: to die with its parent, and to stay on one CPU.
fn settle(cpu: Option<usize>, parent: u32) -> io::Result<()> {
    // SAFETY: PR_SET_PDEATHSIG takes a signal number; getppid has no arguments.
    let orphan = unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 || libc::getppid() as u32 != parent
    };
    if orphan {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    cpu.map_or(Ok(()), pin)
}

/// Pins the calling process and reads that back. Nothing is allocated, because a thread that holds the
/// allocator's lock may not exist on this side of the fork.
fn pin(cpu: usize) -> io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: cpu_set_t is plain data for which all zeroes is the empty set.
    let (mut wanted, mut got): (libc::cpu_set_t, libc::cpu_set_t) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    // SAFETY: `cpu` is below CPU_SETSIZE, checked above.
    unsafe { libc::CPU_SET(cpu, &mut wanted) };
    let size = size_of_val(&wanted);
    // SAFETY: the set is valid for its size; 0 is the calling process.
    let moved = unsafe { libc::sched_setaffinity(0, size, &wanted) };
    let refused = io::Error::last_os_error();
    // What is read back decides: who may run there only is there, whoever refuses the call.
    // SAFETY: the set is valid for its size.
    if unsafe { libc::sched_getaffinity(0, size, &mut got) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: two valid sets.
    if unsafe { libc::CPU_EQUAL(&wanted, &got) } {
        Ok(())
    } else if moved != 0 {
        Err(refused)
    } else {
        Err(io::Error::from_raw_os_error(libc::EXDEV))
    }
}

struct Running {
    child: Child,
    mark: String,
    status: Option<ExitStatus>,
}

impl Running {
    fn watch(&mut self, limits: &Limits, stop: &AtomicBool) -> io::Result<Done> {
        let (Some(mut out), Some(mut err)) = (self.child.stdout.take(), self.child.stderr.take()) else {
            return Err(io::Error::other("the program has no pipes"));
        };
        let began = Instant::now();
        let patience = Duration::from_millis(limits.patience_ms);
        let mut done = Done::default();
        let (mut lines, mut tail, mut open) = (0, Tail::default(), [true, true]);
        loop {
            let fds = [out.as_raw_fd(), err.as_raw_fd()];
            let mut polls = [0, 1].map(|at| libc::pollfd {
                fd: if open[at] { fds[at] } else { -1 },
                events: libc::POLLIN,
                revents: 0,
            });
            // SAFETY: two valid entries.
            let ready = unsafe { libc::poll(polls.as_mut_ptr(), 2, LOOK.as_millis() as i32) };
            if ready < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return Err(io::Error::last_os_error());
            }
            let mut chunk = [0; 16_384];
            if ready > 0 && polls[0].revents != 0 {
                let read = out.read(&mut chunk)?;
                open[0] = read > 0;
                lines += chunk[..read].iter().filter(|byte| **byte == b'\n').count();
                done.stdout.extend_from_slice(&chunk[..read]);
            }
            if ready > 0 && polls[1].revents != 0 {
                let read = err.read(&mut chunk)?;
                open[1] = read > 0;
                tail.add(&chunk[..read]);
            }
            let fate = if stop.load(Ordering::Relaxed) {
                Some(Fate::Stopped)
            } else if lines > limits.lines {
                Some(Fate::Flood(limits.lines, "lines"))
            } else if done.stdout.len() > limits.bytes {
                Some(Fate::Flood(limits.bytes, "bytes"))
            } else if let Some(over) = self.over(limits.memory) {
                Some(over)
            } else if began.elapsed() > patience {
                Some(Fate::Hung(limits.patience_ms))
            } else {
                None
            };
            // The leader's end is the program's end, even when something that it left holds the pipes open.
            if fate.is_some() || open == [false, false] && self.has_ended() || ready == 0 && self.has_ended()
            {
                done.stderr = tail.lines();
                done.fate = fate.or_else(|| self.end());
                return Ok(done);
            }
            if open == [false, false] {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// Whether more memory is resident than may be.
    fn over(&self, limit: Option<u64>) -> Option<Fate> {
        let limit = limit?;
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", self.child.id())).ok()?;
        let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
        // SAFETY: no memory is touched.
        let used = pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
        (used > limit).then_some(Fate::Memory(used, limit))
    }

    /// Whether the program has ended; it is left unreaped.
    fn has_ended(&self) -> bool {
        // SAFETY: siginfo_t is plain data for which all zeroes is valid.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: `info` is valid for writing, and the process is our child.
        unsafe { libc::waitid(libc::P_PID, self.child.id(), &mut info, options) == 0 && info.si_pid() != 0 }
    }

    /// Ends everything that the program started and says how it had ended; `None` for status 0.
    fn end(&mut self) -> Option<Fate> {
        if self.status.is_none() {
            let group = self.child.id() as i32;
            // SAFETY: the group was made for this program, which has not been reaped yet, so that its id, which is
            // the group's, cannot have been given to another.
            unsafe { libc::kill(-group, libc::SIGKILL) };
            self.status = self.child.wait().ok();
            collect(group);
            end_marked(&self.mark);
        }
        let status = self.status?;
        match (status.code(), status.signal()) {
            (Some(0), _) => None,
            (Some(code), _) => Some(Fate::Status(code)),
            (_, signal) => Some(Fate::Signal(signal.unwrap_or(0))),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits for what was left of a process group that has been killed, a few seconds at the most.
fn collect(group: i32) {
    for _ in 0..5_000 {
        // SAFETY: no status is asked for.
        match unsafe { libc::waitpid(-group, std::ptr::null_mut(), libc::WNOHANG) } {
            0 => std::thread::sleep(Duration::from_millis(1)),
            -1 => return,
            _ => {}
        }
    }
}

/// Kills every process that carries the mark: what a program put into a group or session of its own.
fn end_marked(mark: &str) {
    let wanted = format!("{MARK}={mark}");
    // One that is just being made may be missed once, not twice.
    for _ in 0..2 {
        let Ok(processes) = std::fs::read_dir("/proc") else { return };
        for entry in processes.flatten() {
            let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            let Ok(environment) = std::fs::read(entry.path().join("environ")) else { continue };
            if environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes()) {
                // SAFETY: signals a process that carries a mark that only this program was given. If it is ours by
                // inheritance it is waited for.
                unsafe {
                    libc::kill(id, libc::SIGKILL);
                    libc::waitpid(id, std::ptr::null_mut(), 0);
                }
            }
        }
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
        let lines: Vec<String> =
            text.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(Into::into).collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].to_vec()
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
