//! Starts a command as a child that waits until its counters are attached, and then executes.

use crate::inherited::Inherited;
use crate::start::StartError;
use std::ffi::{CStr, CString, OsStr, OsString};
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
    program: OsString,
    paths: Vec<PathBuf>,
    go: Option<File>,
    outcome: File,
}

/// The account of a child before its command begins.
#[derive(Clone, Copy, Default)]
pub(crate) struct Used {
    pub(crate) cpu: Duration,
    pub(crate) voluntary_switches: u64,
    pub(crate) involuntary_switches: u64,
}

/// Preparation in the child before it executes the command. It must make system calls only.
pub(crate) type Prepare<'a> = &'a dyn Fn() -> io::Result<()>;

impl Waiting {
    /// Forks. The child keeps the terminal, the process group, the limits and the descriptors of this process.
    pub(crate) fn start(
        command: &[OsString],
        inherited: Inherited,
        prepare: Prepare<'_>,
    ) -> Result<Self, StartError> {
        let program = command.first().cloned().unwrap_or_default();
        let paths = candidates(&program);
        if paths.is_empty() {
            return Err(StartError::of_exec(&program, &paths, libc::ENOENT));
        }
        let word = |word: &OsStr| {
            let what = "pass a word with a zero byte";
            CString::new(word.as_bytes()).map_err(|error| StartError::System { what, error: error.into() })
        };
        let words: Vec<CString> = command.iter().map(|it| word(it)).collect::<Result<_, _>>()?;
        let files: Vec<CString> = paths.iter().map(|it| word(it.as_os_str())).collect::<Result<_, _>>()?;
        let files = files.into_iter().map(|file| Executable::of(file, &words)).collect();
        let argv = pointers(words.iter());
        let ([wait, go], [outcome, report]) = (pipe()?, pipe()?);
        let parent = std::process::id();
        let child = Child { files, argv, inherited, wait, report, go: go.as_raw_fd(), parent };
        // SAFETY: the child makes system calls only: everything that it uses was allocated before.
        match unsafe { libc::fork() } {
            -1 => Err(StartError::system("start a process")),
            0 => child.execute(prepare),
            pid => Ok(Self { pid, program, paths, go: Some(go.into()), outcome: outcome.into() }),
        }
    }

    /// Waits until the child sleeps, and returns its account until then, which is not charged to the command.
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
            StartError::Refused { what: "prepare the command for counting", error }
        } else {
            StartError::of_exec(&self.program, &self.paths, errno)
        })
    }
}

/// The files that a name of a program can mean, as execvp(3) tries them: a path, or what PATH has of that name.
fn candidates(program: &OsStr) -> Vec<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return vec![program.into()];
    }
    let directories = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    env::split_paths(&directories)
        .filter(|_| !program.is_empty())
        .map(|directory| {
            if directory.as_os_str().is_empty() {
                Path::new(".").join(program)
            } else {
                directory.join(program)
            }
        })
        .filter(|path| fs::symlink_metadata(path).map_or_else(|error| !is_absent(&error), |it| !it.is_dir()))
        .collect()
}

/// Whether there is no such file, so that the next directory is searched.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Pointers to words, with the null pointer that ends a list of arguments.
fn pointers<'w>(words: impl Iterator<Item = &'w CString>) -> Vec<*const libc::c_char> {
    words.map(|word| word.as_ptr()).chain([ptr::null()]).collect()
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

/// A file to execute.
struct Executable {
    path: CString,
    /// The arguments of the shell that reads it, if the kernel cannot execute it.
    as_script: Vec<*const libc::c_char>,
}

/// The interpreter of a script that does not name one (POSIX, `execvp`).
const SHELL: &CStr = c"/bin/sh";

impl Executable {
    fn of(path: CString, words: &[CString]) -> Self {
        let mut as_script = vec![SHELL.as_ptr(), path.as_ptr()];
        as_script.extend(pointers(words.iter().skip(1)));
        Self { path, as_script }
    }
}

/// The forked half.
struct Child {
    files: Vec<Executable>,
    argv: Vec<*const libc::c_char>,
    inherited: Inherited,
    wait: OwnedFd,
    report: OwnedFd,
    go: RawFd,
    parent: u32,
}

impl Child {
    fn execute(&self, prepare: Prepare<'_>) -> ! {
        // SAFETY: system calls on values that the parent allocated.
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
            self.inherited.restore_all();
            // A negative number is not the command's fault.
            let errno = match prepare() {
                Ok(()) => self.execute_first(),
                Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
            };
            let errno = errno.to_ne_bytes();
            libc::write(self.report.as_raw_fd(), errno.as_ptr().cast(), errno.len());
            libc::_exit(125)
        }
    }

    /// Executes the first file that can be executed, as execvp(3) does, or returns why none can.
    fn execute_first(&self) -> libc::c_int {
        let (mut last, mut is_denied) = (libc::ENOENT, false);
        for file in &self.files {
            // SAFETY: the lists of arguments end with null pointers, and what they point to lives in the parent's memory.
            last = unsafe {
                libc::execv(file.path.as_ptr(), self.argv.as_ptr());
                if *libc::__errno_location() == libc::ENOEXEC {
                    libc::execv(SHELL.as_ptr(), file.as_script.as_ptr());
                }
                *libc::__errno_location()
            };
            match last {
                libc::EACCES => is_denied = true,
                libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT => {}
                _ => return last,
            }
        }
        if is_denied { libc::EACCES } else { last }
    }
}
