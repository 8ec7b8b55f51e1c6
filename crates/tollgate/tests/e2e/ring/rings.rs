//! A ring that runs beside its test: its processes, its end.

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// The program under test.
pub(crate) fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_tollgate"))
}

pub(crate) fn output(args: &[&str]) -> Output {
    Command::new(binary()).args(args).output().expect("it starts")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The cells of a run, without what was concluded from them.
pub(crate) fn results(run: &Value) -> Vec<&Value> {
    let all = run["results"].as_array().expect("results");
    all.iter().filter(|result| result["probe"] != "ring/knee").collect()
}

/// Waits until something is so. The limit only turns a test that would never end into a failure.
pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    for _ in 0..12_000 {
        if so() {
            return;
        }
        sleep(Duration::from_millis(10));
    }
    panic!("{what}: waited in vain");
}

/// A `tollgate ring` that is running.
pub(crate) struct Started {
    child: Child,
    /// Holds a copy of the program that another user may start.
    _folder: Option<tempfile::TempDir>,
}

impl Started {
    pub(crate) fn new(args: &[&str]) -> Self {
        Self { child: start(&mut Command::new(binary()), args), _folder: None }
    }

    /// As a user with nothing, under these limits. `None` without the right to do that.
    pub(crate) fn as_nobody(args: &[&str], limits: &[(libc::__rlimit_resource_t, u64)]) -> Option<Self> {
        // SAFETY: no arguments.
        if unsafe { libc::geteuid() } != 0 {
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("our own folder");
        let copy: PathBuf = folder.path().join("tollgate");
        fs::copy(binary(), &copy).expect("a copy");
        let mut command = Command::new(copy);
        command.uid(65_534).gid(65_534).current_dir("/");
        let limits = limits.to_vec();
        let limit = move || {
            for &(resource, value) in &limits {
                let limit = libc::rlimit { rlim_cur: value, rlim_max: value };
                // SAFETY: the structure is valid; the limit is this process's own.
                if unsafe { libc::setrlimit(resource, &limit) } != 0 {
                    return Err(std::io::Error::last_os_error());
                }
            }
            Ok(())
        };
        // SAFETY: between fork and exec only setrlimit is called.
        unsafe { command.pre_exec(limit) };
        Some(Self { child: start(&mut command, args), _folder: Some(folder) })
    }

    pub(crate) fn id(&self) -> i32 {
        self.child.id() as i32
    }

    /// The tasks of the ring besides its first, when there are so many tasks.
    pub(crate) fn wait_for_tasks(&self, tasks: usize) -> Vec<i32> {
        let mut found = Vec::new();
        until("the ring's processes", || {
            // Between the command and its worker is the worker's guard.
            let all = processes();
            let below = |parents: &[i32]| -> Vec<i32> {
                all.iter().filter(|(_, parent)| parents.contains(parent)).map(|(id, _)| *id).collect()
            };
            found = below(&below(&below(&[self.id()])));
            found.len() + 1 >= tasks
        });
        found
    }
}

fn start(command: &mut Command, args: &[&str]) -> Child {
    command.arg("ring").args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

/// Exit status (`None` when a signal ended it), standard output and standard error.
pub(crate) fn finished(ring: Started) -> (Option<i32>, String, String) {
    let done = ring.child.wait_with_output().expect("it ends");
    (done.status.code(), text(&done.stdout), text(&done.stderr))
}

pub(crate) fn kill(process: i32, signal: i32) {
    // SAFETY: integers only.
    unsafe { libc::kill(process, signal) };
}

/// Waits until none of these is there any more, or only as what somebody else has yet to collect.
pub(crate) fn all_gone(processes: &[i32]) {
    let alive = |process: &i32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
    };
    until("the end of the ring's processes", || !processes.iter().any(alive));
}

/// Number and parent of every process.
fn processes() -> Vec<(i32, i32)> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let parent = |id: i32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        Some((id, parent))
    };
    numbers.filter_map(parent).collect()
}
