//! A program with everything that it starts, from the side of the process that started it.

use crate::guard::{self, Report, Started};
use crate::patience::Patience;
use std::io::{self, Read, Write};
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{ptr, thread};

/// Runs in the new process before the program is executed. It must not allocate or take a lock.
pub type Prepare = Arc<dyn Fn() -> io::Result<()> + Send + Sync>;

/// How a program ended.
#[derive(Clone, Copy)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// The resources of the program and of the children that it waited for.
    pub usage: libc::rusage,
}

/// A running program and everything that it starts. Dropping it ends all of that.
pub struct Tree {
    /// The program's standard input, if it was piped.
    pub stdin: Option<ChildStdin>,
    /// The program's standard output, if it was piped.
    pub stdout: Option<ChildStdout>,
    /// The program's standard error, if it was piped.
    pub stderr: Option<ChildStderr>,
    /// The guard, or the program if there is none.
    child: Child,
    guard: Option<UnixStream>,
    program: libc::pid_t,
    ended: Option<Ended>,
    /// Whether nothing is left to end.
    over: bool,
}

/// Milliseconds for which the end of a tree waits for processes that have been killed. The kernel cannot end a
/// process at once that waits for a device; the guard stays until it has ended.
const GONE_MS: i32 = 5_000;

/// How often a program is tried whose file is being written, with pauses of 1, 2, 3 ... milliseconds.
const BUSY_TRIES: u64 = 30;

/// Why a program did not start behind a guard.
enum Refused {
    /// No guard can be started.
    Guard,
    /// The guard served, and the program could not be executed.
    Program(io::Error),
}

impl Tree {
    /// Starts the program that `command` describes, in a process group of its own, behind a guard. `command` is
    /// called once more if no guard can be started, and for a while as long as the program's file is being written.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(mut command: impl FnMut() -> Command, prepare: Option<Prepare>) -> io::Result<Self> {
        adopt_orphans();
        let mut tries = 0;
        loop {
            match Self::guarded(command(), prepare.clone()) {
                Ok(tree) => return Ok(tree),
                // A process that another thread is starting may have inherited the descriptor with which the file was just
                // written.
                Err(Refused::Program(error))
                    if error.kind() == io::ErrorKind::ExecutableFileBusy && tries < BUSY_TRIES =>
                {
                    tries += 1;
                    thread::sleep(Duration::from_millis(tries));
                }
                Err(Refused::Program(error)) => return Err(error),
                Err(Refused::Guard) => return Self::unguarded(command(), prepare),
            }
        }
    }

    fn guarded(mut command: Command, prepare: Option<Prepare>) -> Result<Self, Refused> {
        let (mut ours, theirs) = UnixStream::pair().map_err(|_| Refused::Guard)?;
        let split = move || {
            end_first();
            guard::split(theirs.as_raw_fd())?;
            prepare.as_ref().map_or(Ok(()), |prepare| prepare())
        };
        command.process_group(0);
        // SAFETY: between fork and exec the closure makes system calls only, as `Prepare` must.
        unsafe { command.pre_exec(split) };
        let child = command.spawn();
        // The command holds the guard's end of the socket, too, and would hide its end.
        drop(command);
        // A guard that serves has said so; what failed after that is the program.
        let program = receive::<Started>(&mut ours);
        match (child, program) {
            (Ok(child), Ok(program)) => Ok(Self::new(child, Some(ours), program)),
            (Err(error), Ok(_)) => Err(Refused::Program(error)),
            (_, Err(_)) => Err(Refused::Guard),
        }
    }

    /// Starts the program as a direct child without a guard, where none can be started.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn unguarded(mut command: Command, prepare: Option<Prepare>) -> io::Result<Self> {
        adopt_orphans();
        command.process_group(0);
        // Without it nothing runs between fork and exec, so that the library needs no fork, which may be what is missing. A
        // worker asks for the same by itself.
        if let Some(prepare) = prepare {
            let parent = std::process::id();
            let bound = move || {
                end_first();
                end_with_parent(parent)?;
                prepare()
            };
            // SAFETY: between fork and exec the closure makes system calls only, as `Prepare` must.
            unsafe { command.pre_exec(bound) };
        }
        let child = command.spawn()?;
        let program = child.id() as libc::pid_t;
        Ok(Self::new(child, None, program))
    }

    fn new(mut child: Child, guard: Option<UnixStream>, program: libc::pid_t) -> Self {
        Self {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            child,
            guard,
            program,
            ended: None,
            over: false,
        }
    }

    /// The process id of the program, which is also its process group's.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.program as u32
    }

    /// A descriptor that becomes readable when the program ends, for a poll beside its pipes; -1 without a guard.
    #[must_use]
    pub fn descriptor(&self) -> RawFd {
        self.guard.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Sends a signal to the program, unless it has ended.
    pub fn signal(&mut self, signal: u8) {
        match &mut self.guard {
            // A guard that is gone has ended the program.
            Some(guard) => drop(guard.write_all(&[signal])),
            // SAFETY: the program has not been reaped, so its id is its own.
            None if !self.over => drop(unsafe { libc::kill(self.program, signal.into()) }),
            None => {}
        }
    }

    /// How the program has ended, if it has. Does not wait.
    pub fn ended(&mut self) -> Option<Ended> {
        if self.ended.is_none() && self.is_over() {
            self.finish();
        }
        self.ended
    }

    /// Waits for the program to end by itself, then ends the processes that it has left behind.
    pub fn wait(&mut self) -> Ended {
        match &self.guard {
            Some(guard) => drop(readable(guard.as_raw_fd(), -1)),
            None => drop(child_state(self.program, 0)),
        }
        self.finish()
    }

    /// Waits for the program to end by itself for as long as `patience` has with it. `None` if it hangs; it still runs then.
    pub fn wait_patiently(&mut self, mut patience: Patience) -> Option<Ended> {
        let (mut since, mut wait) = (Instant::now(), patience.allowed());
        loop {
            if let Some(ended) = self.ended() {
                return Some(ended);
            }
            if since.elapsed() > wait {
                wait = patience.after(since.elapsed(), self.id())?;
                since = Instant::now();
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Ends the program and everything that it has started, if it has not ended by itself.
    pub fn end(&mut self) -> Ended {
        self.finish()
    }

    fn is_over(&self) -> bool {
        match &self.guard {
            Some(guard) => readable(guard.as_raw_fd(), 0),
            None => child_state(self.program, libc::WNOHANG) != Some(false),
        }
    }

    fn finish(&mut self) -> Ended {
        if !self.over {
            self.over = true;
            let ended = match self.guard.take() {
                Some(guard) => self.end_guarded(guard),
                None => self.end_group(),
            };
            self.ended = Some(ended);
        }
        self.ended.unwrap_or_else(killed)
    }

    /// Closes the guard's socket, which makes it end the tree.
    fn end_guarded(&mut self, mut guard: UnixStream) -> Ended {
        let _ = guard.shutdown(std::net::Shutdown::Write);
        if !readable(guard.as_raw_fd(), GONE_MS) {
            return killed();
        }
        let Ok(report) = receive::<Report>(&mut guard) else {
            // Somebody has killed the guard. The kernel has then killed the program, and made it our child.
            return self.end_group();
        };
        // The socket ends when the guard does, which is when nothing is left.
        if readable(guard.as_raw_fd(), GONE_MS) {
            let _ = self.child.wait();
        }
        Ended { status: ExitStatus::from_raw(report.status), usage: report.usage }
    }

    /// Kills the process group of a program that is our child, and waits for what was in it.
    fn end_group(&mut self) -> Ended {
        let (group, mut ended) = (self.program, killed());
        if self.child.id() as libc::pid_t != group {
            let _ = self.child.wait();
        }
        let mut status = 0;
        // SAFETY: nobody else reaps the program, so that its id, which is the group's, is still its own if it is our
        // child. Status and usage are valid for writing.
        unsafe {
            if child_state(group, libc::WNOHANG).is_none() {
                return ended;
            }
            libc::kill(-group, libc::SIGKILL);
            if libc::wait4(group, &mut status, libc::__WALL, &mut ended.usage) == group {
                ended.status = ExitStatus::from_raw(status);
            }
        }
        for _ in 0..GONE_MS {
            // SAFETY: no status is wanted.
            match unsafe { libc::waitpid(-group, ptr::null_mut(), libc::WNOHANG | libc::__WALL) } {
                0 => thread::sleep(Duration::from_millis(1)),
                -1 => break,
                _ => {}
            }
        }
        ended
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Makes processes ours whose parents end, so that they can be waited for.
fn adopt_orphans() {
    // SAFETY: an option of this process that takes an integer.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
}

/// Asks the kernel to kill this process when its parent ends, if the parent is still the process `parent`. A guarded
/// program has a guard for a parent, which has asked for that already.
///
/// # Errors
/// The process `parent` is gone and nothing guards this one.
pub fn end_with_parent(parent: u32) -> io::Result<()> {
    let mut asked: libc::c_int = 0;
    // SAFETY: prctl takes a signal number, and writes one to the integer; getppid has no arguments.
    unsafe {
        libc::prctl(libc::PR_GET_PDEATHSIG, &raw mut asked);
        if asked == 0 {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() as u32 != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
        }
    }
    Ok(())
}

/// Lets the kernel end this process and all that it becomes before its supervisor when memory is out, so that a row is
/// lost and not the run: all memory counts as used by it (proc_pid_oom_score_adj(5)). It is asked first, for memory may
/// be out while a program is started. Where it cannot be asked for, the kernel chooses by size.
pub fn end_first() {
    const SCORE: &[u8] = b"1000";
    // SAFETY: a string that ends with zero, and bytes that live for ever; the descriptor is used by nothing else.
    unsafe {
        let file = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file >= 0 {
            libc::write(file, SCORE.as_ptr().cast(), SCORE.len());
            libc::close(file);
        }
    }
}

/// The end of a program whose status is unknown.
fn killed() -> Ended {
    // SAFETY: rusage is plain data for which all zeroes is valid.
    Ended { status: ExitStatus::from_raw(libc::SIGKILL), usage: unsafe { mem::zeroed() } }
}

/// Whether a child has ended, left unreaped; `None` if there is no such child.
fn child_state(id: libc::pid_t, options: libc::c_int) -> Option<bool> {
    // SAFETY: siginfo_t is plain data for which all zeroes is valid, and valid for writing.
    unsafe {
        let mut info: libc::siginfo_t = mem::zeroed();
        let options = libc::WEXITED | libc::WNOWAIT | libc::__WALL | options;
        let known = libc::waitid(libc::P_PID, id as libc::id_t, &mut info, options) == 0;
        known.then(|| info.si_pid() != 0)
    }
}

/// Waits until a descriptor can be read or has ended, for at most `ms` milliseconds (-1: forever).
fn readable(descriptor: RawFd, ms: libc::c_int) -> bool {
    loop {
        let mut poll = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid entry.
        match unsafe { libc::poll(&mut poll, 1, ms) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            ready => return ready > 0,
        }
    }
}

/// Reads a value that the guard has sent.
fn receive<T: Copy>(link: &mut UnixStream) -> io::Result<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: the bytes of the value, all of which are initialized by `zeroed`.
    let bytes = unsafe { std::slice::from_raw_parts_mut(value.as_mut_ptr().cast::<u8>(), size_of::<T>()) };
    link.read_exact(bytes)?;
    // SAFETY: the guard sends whole values of plain data, of the type that is read.
    Ok(unsafe { value.assume_init() })
}
