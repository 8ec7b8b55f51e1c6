//! Starts a command as a child that waits until its counters are attached, and then executes.

use crate::signals;
use crate::start::StartError;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, ptr, thread};

/// A child that has not executed its command yet. It ends when this process does.
pub(crate) struct Waiting {
    pub(crate) pid: libc::pid_t,
    program: String,
    go: Option<File>,
    outcome: File,
}

/// What a child has used before its command begins.
#[derive(Clone, Copy, Default)]
pub(crate) struct Used {
    pub(crate) cpu: Duration,
    pub(crate) voluntary_switches: u64,
    pub(crate) involuntary_switches: u64,
}

/// What the child does itself before it executes. It must make system calls only.
pub(crate) type Prepare<'a> = &'a dyn Fn() -> io::Result<()>;

impl Waiting {
    /// Forks. The child keeps the terminal, the process group, the limits and the descriptors of this process.
    pub(crate) fn start(command: &[OsString], prepare: Prepare<'_>) -> Result<Self, StartError> {
        let program = command.first().map(OsString::as_os_str).unwrap_or_default();
        let path = found(program).ok_or_else(|| StartError::of_exec(program, libc::ENOENT))?;
        let word = |word: &OsStr| {
            let what = "pass a word with a zero byte";
            CString::new(word.as_bytes()).map_err(|error| StartError::System { what, error: error.into() })
        };
        let path = word(path.as_os_str())?;
        let words: Vec<CString> = command.iter().map(|it| word(it)).collect::<Result<_, _>>()?;
        let mut argv: Vec<*const libc::c_char> = words.iter().map(|word| word.as_ptr()).collect();
        argv.push(ptr::null());
        let ([wait, go], [outcome, report]) = (pipe()?, pipe()?);
        let child = Child { path, argv, wait, report, go: go.as_raw_fd(), parent: std::process::id() };
        // SAFETY: the child makes system calls only: everything that it uses was allocated before.
        match unsafe { libc::fork() } {
            -1 => Err(StartError::system("start a process")),
            0 => child.execute(prepare),
            pid => {
                let program = program.to_string_lossy().into_owned();
                Ok(Self { pid, program, go: Some(go.into()), outcome: outcome.into() })
            }
        }
    }

    /// Waits until the child sleeps, and returns what it has used until then, which the command is not charged for.
    pub(crate) fn settled(&self) -> Used {
        let mut used = Used::default();
        let read = |name: &str| fs::read_to_string(format!("/proc/{}/{name}", self.pid)).unwrap_or_default();
        // A child on a crowded machine gets its turn within this number of looks.
        for _ in 0..10_000 {
            let status = read("status");
            let value = |key: &str| Some(status.lines().find_map(|line| line.strip_prefix(key))?.trim());
            let number = |key| value(key).and_then(|number| number.parse().ok()).unwrap_or(0);
            used.voluntary_switches = number("voluntary_ctxt_switches:");
            used.involuntary_switches = number("nonvoluntary_ctxt_switches:");
            let sleeps = value("State:").is_some_and(|it| it.starts_with('S'));
            if status.is_empty() || (used.voluntary_switches > 0 && sleeps) {
                break;
            }
            thread::yield_now();
        }
        let ran = read("schedstat").split(' ').next().and_then(|ns| ns.parse().ok());
        used.cpu = Duration::from_nanos(ran.unwrap_or(0));
        used
    }

    /// Lets the child execute. A child that is not released ends.
    pub(crate) fn release(&mut self) {
        if let Some(mut go) = self.go.take() {
            let _ = go.write_all(b"g");
        }
    }

    /// Why the child could not execute, once it has ended.
    pub(crate) fn error(mut self) -> Option<StartError> {
        let mut errno = [0; 4];
        self.outcome.read_exact(&mut errno).ok()?;
        let errno = i32::from_ne_bytes(errno);
        Some(if errno < 0 {
            let error = io::Error::from_raw_os_error(-errno);
            StartError::System { what: "prepare the command for counting", error }
        } else {
            StartError::of_exec(self.program.as_ref(), errno)
        })
    }
}

/// The file that a name of a program means: a path, or the first on PATH that can be executed, else the first.
fn found(program: &OsStr) -> Option<PathBuf> {
    if program.is_empty() || program.as_bytes().contains(&b'/') {
        return Some(program.into()).filter(|path: &PathBuf| !path.as_os_str().is_empty());
    }
    let directories = env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    let files: Vec<PathBuf> = env::split_paths(&directories)
        .map(|directory| {
            if directory.as_os_str().is_empty() {
                Path::new(".").join(program)
            } else {
                directory.join(program)
            }
        })
        .filter(|path| path.is_file())
        .collect();
    let executable = |path: &&PathBuf| {
        let path = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
        // SAFETY: the path ends with a zero byte.
        unsafe { libc::access(path.as_ptr(), libc::X_OK) == 0 }
    };
    files.iter().find(executable).or(files.first()).cloned()
}

/// A pipe that is closed on execution.
pub(crate) fn pipe() -> Result<[OwnedFd; 2], StartError> {
    let mut ends: [RawFd; 2] = [-1; 2];
    // SAFETY: room for two descriptors, which nothing else owns after the call.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(StartError::system("open a pipe"));
        }
        Ok(ends.map(|end| OwnedFd::from_raw_fd(end)))
    }
}

/// The forked half.
struct Child {
    path: CString,
    argv: Vec<*const libc::c_char>,
    wait: OwnedFd,
    report: OwnedFd,
    go: RawFd,
    parent: u32,
}

impl Child {
    fn execute(&self, prepare: Prepare<'_>) -> ! {
        // SAFETY: system calls on values that the parent allocated; `argv` ends with a null pointer.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            libc::close(self.go);
            let mut byte = 0_u8;
            let released = loop {
                let read = libc::read(self.wait.as_raw_fd(), (&raw mut byte).cast(), 1);
                if read >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                    break read == 1;
                }
            };
            if !released || libc::getppid() as u32 != self.parent {
                libc::_exit(125);
            }
            signals::restore();
            let errno = |error: io::Error| error.raw_os_error().unwrap_or(libc::EIO);
            // A negative number is not the command's fault.
            let errno = match prepare() {
                Ok(()) => {
                    libc::execv(self.path.as_ptr(), self.argv.as_ptr());
                    errno(io::Error::last_os_error())
                }
                Err(error) => -errno(error),
            };
            let errno = errno.to_ne_bytes();
            libc::write(self.report.as_raw_fd(), errno.as_ptr().cast(), errno.len());
            libc::_exit(125)
        }
    }
}
