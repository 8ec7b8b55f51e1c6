//! A place in which the program is called: a directory of its own for temporary files, and its processes.

use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tollgate");
/// Nothing here takes so long.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Place {
    dir: tempfile::TempDir,
}

pub(crate) struct Outcome {
    pub(crate) exit: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        // Where the program was built there is a disk more often than in /tmp.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(dir.path().join("tmp")).unwrap();
        fs::set_permissions(dir.path().join("tmp"), Permissions::from_mode(0o777)).unwrap();
        Self { dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, content: &[u8]) {
        fs::write(self.path(name), content).unwrap();
    }

    fn command(&self, program: &Path, args: &str) -> Command {
        let mut command = Command::new(program);
        let dir = self.dir.path().to_str().unwrap();
        command.args(args.split_whitespace().map(|word| word.replace("{dir}", dir)));
        command.env("TMPDIR", self.path("tmp")).env("LANG", "C.UTF-8").env("HOME", self.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs `fault scan`.
    pub(crate) fn run(&self, args: &str) -> Outcome {
        self.start(args).end()
    }

    /// Runs `fault`.
    pub(crate) fn fault(&self, args: &str) -> Outcome {
        let child = self.command(PROGRAM.as_ref(), &format!("fault {args}")).spawn().unwrap();
        Running { child }.end()
    }

    pub(crate) fn start(&self, args: &str) -> Running {
        let args = format!("fault scan --no-save {args}");
        Running { child: self.command(PROGRAM.as_ref(), &args).spawn().unwrap() }
    }

    /// Starts a scan that saves in the store `{dir}/store`.
    pub(crate) fn start_saving(&self, args: &str) -> Running {
        let args = format!("fault scan --store {{dir}}/store {args}");
        Running { child: self.command(PROGRAM.as_ref(), &args).spawn().unwrap() }
    }

    /// Runs a scan as somebody without rights.
    pub(crate) fn run_as_nobody(&self, args: &str) -> Result<Outcome, String> {
        // SAFETY: no arguments.
        if unsafe { libc::geteuid() } != 0 {
            return Err("only root can start a program as somebody else".into());
        }
        // Where the program was built, nobody may be allowed to look.
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
        let copy = dir.path().join("tollgate");
        fs::copy(PROGRAM, &copy).unwrap();
        let mut command = self.command(&copy, &format!("fault scan --no-save {args}"));
        command.env("TMPDIR", dir.path()).current_dir("/").uid(65_534).gid(65_534);
        let child = command.spawn().map_err(|error| format!("nobody cannot start it: {error}"))?;
        Ok(Running { child }.end())
    }

    /// No file is left where temporary files are made.
    pub(crate) fn nothing_left(&self) {
        let left: Vec<_> = fs::read_dir(self.path("tmp")).unwrap().map(|it| it.unwrap().path()).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

/// Why no memory limit is available here, if so.
pub(crate) fn limited(place: &Place) -> Option<String> {
    let outcome = place.run("--size 64K --memory-limit 64M");
    (outcome.exit != Some(0)).then(|| format!("no control group may be made: {}", outcome.stderr.trim()))
}

/// The program while it runs.
pub(crate) struct Running {
    child: Child,
}

impl Running {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, number: i32) {
        // SAFETY: the child is ours and has not been waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, number) }, 0);
    }

    /// Waits until the process that touches has mapped a file with that in its name.
    pub(crate) fn wait_for_scan(&mut self, name: &str) -> u32 {
        let mut found = 0;
        let (id, child) = (self.child.id(), &mut self.child);
        until("a scan", || {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it scanned");
            descendants(id).into_iter().any(|id| {
                let read = |file: &str| fs::read(format!("/proc/{id}/{file}")).unwrap_or_default();
                let has = |file: &str, what: &str| {
                    String::from_utf8_lossy(&read(file)).lines().any(|line| line.contains(what))
                };
                found = id;
                has("cmdline", "touch") && has("maps", name)
            })
        });
        found
    }

    pub(crate) fn end(&mut self) -> Outcome {
        // Both pipes are small beside what is printed only once it has ended; read while it runs.
        let mut stdout = self.child.stdout.take().unwrap();
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).unwrap();
            text
        });
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let status = self.child.wait().unwrap();
        Outcome { exit: status.code(), stdout: reader.join().unwrap(), stderr }
    }
}

/// The children of a process, their children, and so on.
fn descendants(id: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|id| id.parse::<u32>().ok());
    children.flat_map(|id| [vec![id], descendants(id)].concat()).collect()
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < LIMIT, "there was no {what} in {} s", LIMIT.as_secs());
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Control groups that a process has made and that are still there.
pub(crate) fn groups_of(id: u32) -> Vec<PathBuf> {
    let prefix = format!("tollgate-scan-{id}-");
    let (mut found, mut left) = (Vec::new(), vec![PathBuf::from("/sys/fs/cgroup")]);
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                found.push(entry.path());
            }
            left.push(entry.path());
        }
    }
    found
}
