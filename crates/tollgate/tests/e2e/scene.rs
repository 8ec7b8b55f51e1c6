//! A place to call the program in, the program while it runs, and its result.

use crate::case::squeezed;
use crate::processes::{LIMIT, MARK, Process, marked, signal, until};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_tollgate");

/// Whoever has no rights at all.
pub(crate) const NOBODY: u32 = 65_534;

type Preparation = Box<dyn FnOnce(&mut Command)>;

/// The place.
pub(crate) struct Scene {
    dir: tempfile::TempDir,
    mark: String,
    args: Vec<String>,
    program: PathBuf,
    /// Applied to the command when it is made.
    preparations: Vec<Preparation>,
    /// Kept alive until the program has ended.
    company: Vec<Box<dyn std::any::Any>>,
    stdout: Option<Stdio>,
    stderr: Option<Stdio>,
}

impl Scene {
    pub(crate) fn new(args: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(dir.path().join("home")).unwrap();
        let mark = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = dir.path().to_str().unwrap().to_owned();
        let word = |word: &str| if word == "''" { String::new() } else { word.replace("{dir}", &path) };
        Self {
            mark,
            args: args.split_whitespace().map(word).collect(),
            program: PROGRAM.into(),
            dir,
            preparations: Vec::new(),
            company: Vec::new(),
            stdout: None,
            stderr: None,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file, with the directories that it needs.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Changes the command before it is started.
    pub(crate) fn prepare(&mut self, preparation: impl FnOnce(&mut Command) + 'static) {
        self.preparations.push(Box::new(preparation));
    }

    /// Sets or removes a variable.
    pub(crate) fn env(&mut self, name: &'static str, value: Option<&str>) {
        let value = value.map(str::to_owned);
        self.prepare(move |command| {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        });
    }

    /// Runs in the child before the program is loaded. `act` must only make system calls.
    pub(crate) fn in_child(&mut self, act: impl Fn() -> io::Result<()> + Send + Sync + 'static) {
        self.prepare(move |command| {
            // SAFETY: every caller passes a function that makes system calls only: it takes no lock
            // and allocates nothing.
            unsafe { command.pre_exec(act) };
        });
    }

    /// Something that lives as long as the scene.
    pub(crate) fn keep(&mut self, company: impl std::any::Any) {
        self.company.push(Box::new(company));
    }

    /// Where standard output goes instead of being looked at.
    pub(crate) fn stdout(&mut self, to: impl Into<Stdio>) {
        self.stdout = Some(to.into());
    }

    /// Where standard error goes instead of being looked at.
    pub(crate) fn stderr(&mut self, to: impl Into<Stdio>) {
        self.stderr = Some(to.into());
    }

    /// Runs as somebody without rights, who owns the directory `home`.
    pub(crate) fn as_nobody(&mut self) -> Result<(), String> {
        self.for_nobody()?;
        self.prepare(|command| {
            command.uid(NOBODY).gid(NOBODY);
        });
        Ok(())
    }

    /// Lays out what somebody without rights needs: a program that he may read, and his home.
    pub(crate) fn for_nobody(&mut self) -> Result<(), String> {
        // SAFETY: no arguments.
        if unsafe { libc::geteuid() } != 0 {
            return Err(format!("only root can start a program as uid {NOBODY}"));
        }
        // Where the program was built, nobody may be allowed to look.
        let copy = self.path("tollgate");
        if fs::hard_link(PROGRAM, &copy).is_err() {
            fs::copy(PROGRAM, &copy).unwrap();
        }
        self.program = copy;
        std::os::unix::fs::chown(self.path("home"), Some(NOBODY), Some(NOBODY)).unwrap();
        Ok(())
    }

    /// Starts the program, lets things happen to it, and waits for its end. An error is the reason why
    /// it could not be started in this place.
    pub(crate) fn play(self, during: fn(&mut Running)) -> Result<Outcome, String> {
        let (mut out, mut err) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let before = files(self.dir.path());
        let mut command = Command::new(&self.program);
        command.args(&self.args).env_clear().env("PATH", "/usr/bin:/bin").env("LANG", "C.UTF-8");
        command.env("HOME", self.path("home")).env(MARK, &self.mark).process_group(0);
        command.current_dir(self.dir.path()).stdin(Stdio::null());
        command.stdout(self.stdout.unwrap_or_else(|| out.try_clone().unwrap().into()));
        let heard = self.stderr.is_none();
        command.stderr(self.stderr.unwrap_or_else(|| err.try_clone().unwrap().into()));
        for preparation in self.preparations {
            preparation(&mut command);
        }
        let child =
            command.spawn().map_err(|error| format!("such a place is not available here: {error}"))?;
        // The command holds the other end of a pipe, perhaps.
        drop(command);
        let mut running = Running { child, mark: self.mark, dir: self.dir.path().into() };
        during(&mut running);
        let status = running.end();
        drop(self.company);
        let text = |file: &mut File| {
            file.rewind().unwrap();
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).unwrap();
            String::from_utf8(bytes).expect("UTF-8")
        };
        Ok(Outcome {
            exit: status.code(),
            signal: status.signal(),
            stdout: text(&mut out),
            stderr: text(&mut err),
            json: self.args.iter().any(|arg| arg == "--json"),
            mark: running.mark.clone(),
            heard,
            before,
            dir: self.dir,
        })
    }
}

/// The program while it runs.
pub(crate) struct Running {
    child: Child,
    mark: String,
    dir: PathBuf,
}

impl Running {
    pub(crate) fn id(&self) -> i32 {
        self.child.id() as i32
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub(crate) fn signal(&self, number: i32) {
        assert!(signal(self.id(), number), "it has ended before signal {number}");
    }

    /// Waits until it handles a signal by itself.
    pub(crate) fn handles(&mut self, number: i32) {
        let status = format!("/proc/{}/status", self.id());
        until("a handler of the signal", || {
            assert!(self.child.try_wait().unwrap().is_none(), "it ended before it had a handler");
            let text = fs::read_to_string(&status).ok()?;
            let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
            let caught = u64::from_str_radix(caught.trim(), 16).ok()?;
            (caught >> (number - 1) & 1 == 1).then_some(())
        });
    }

    /// Ends it, unless it has ended by itself.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    fn find(&mut self, what: &str, wanted: impl Fn(&Process, &[Process]) -> bool) -> Process {
        until(what, || {
            assert!(self.child.try_wait().unwrap().is_none(), "it ended before there was {what}");
            let mut all = marked(&self.mark);
            let found = all.iter().position(|process| wanted(process, &all))?;
            Some(all.swap_remove(found))
        })
    }

    /// The worker process.
    pub(crate) fn worker(&mut self) -> i32 {
        self.find("a worker", |process, _| process.is_worker()).id
    }

    /// The worker process while it has a probe in hand, and not between two.
    pub(crate) fn busy_worker(&mut self) -> i32 {
        self.made_by_a_worker().parent
    }

    /// A process that the worker made and that lives as long as its probe.
    pub(crate) fn peer(&mut self) -> i32 {
        self.made_by_a_worker().id
    }

    /// A child still has the worker's command line.
    fn made_by_a_worker(&mut self) -> Process {
        self.find("a peer process", |process, all| {
            all.iter().any(|worker| {
                let made_by_tollgate =
                    !all.iter().any(|other| other.id == worker.parent && other.is_worker());
                worker.is_worker() && made_by_tollgate && worker.id == process.parent
            })
        })
    }

    /// Waits until the store has a record with a figure.
    pub(crate) fn saved(&mut self) {
        self.saved_with("measured");
    }

    /// Waits until the store has a record with a row that failed.
    pub(crate) fn lost_a_row(&mut self) {
        self.saved_with("failed");
    }

    /// Kills workers until that costs a row: one that times the yardsticks at that moment costs none.
    pub(crate) fn kill_workers_until_a_row_is_lost(&mut self) {
        loop {
            signal(self.busy_worker(), libc::SIGKILL);
            // The first may have been in the making before.
            if (0..3).any(|_| has_row(&self.next_record(), "failed")) {
                return;
            }
        }
    }

    fn saved_with(&mut self, status: &str) {
        let mut record = self.record();
        while !record.is_some_and(|record| has_row(&record, status)) {
            record = Some(self.next_record());
        }
    }

    /// The record as it is saved now.
    fn record(&self) -> Option<Value> {
        let text = fs::read_to_string(records(&self.dir.join("store")).pop()?).unwrap();
        Some(serde_json::from_str(&text).expect("a whole record at any moment"))
    }

    /// Waits until another state of the record is saved.
    fn next_record(&mut self) -> Value {
        let before = self.record();
        until("another state of the record", || {
            assert!(self.child.try_wait().unwrap().is_none(), "it ended before it saved what was waited for");
            self.record().filter(|record| before.as_ref() != Some(record))
        })
    }

    /// Waits for the end, whatever else was done.
    fn end(&mut self) -> std::process::ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            if start.elapsed() > LIMIT {
                for process in marked(&self.mark) {
                    signal(process.id, libc::SIGKILL);
                }
                panic!("it hangs: no end within {} s", LIMIT.as_secs());
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

fn has_row(record: &Value, status: &str) -> bool {
    record["results"]
        .as_array()
        .is_some_and(|results| results.iter().any(|result| result["status"] == status))
}

/// A failed assertion while it runs leaves nothing behind.
impl Drop for Running {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Its result.
pub(crate) struct Outcome {
    pub(crate) exit: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    json: bool,
    mark: String,
    /// Whether standard error was looked at.
    heard: bool,
    before: BTreeMap<PathBuf, u64>,
    dir: tempfile::TempDir,
}

impl Outcome {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn filled(&self, text: &str) -> String {
        text.replace("{dir}", self.dir.path().to_str().unwrap())
    }

    /// Whether standard error says it, however it is wrapped.
    pub(crate) fn says(&self, what: &str) -> bool {
        squeezed(&self.stderr).contains(what)
    }

    /// What was printed, as JSON.
    pub(crate) fn printed(&self) -> Value {
        serde_json::from_str(&self.stdout).expect("JSON on standard output")
    }

    /// The only record of the store.
    pub(crate) fn saved(&self) -> Value {
        let records = records(&self.path("store"));
        assert_eq!(records.len(), 1, "{records:?}");
        serde_json::from_str(&fs::read_to_string(&records[0]).unwrap()).expect("JSON in the store")
    }

    /// What holds however the program was called and whatever happened to it.
    pub(crate) fn check_manners(&self) {
        for bad in ["panicked", "RUST_BACKTRACE", "stack backtrace", "Os {", "Err("] {
            assert!(!self.stderr.contains(bad), "stderr has {bad:?}: {}", self.stderr);
        }
        // Whatever names and texts of others are in it.
        for text in [&self.stdout, &self.stderr] {
            let shown: String = text.chars().filter(|c| *c != '\t').collect();
            assert_eq!(tollgate_record::text::inert(&shown), shown, "it steers a terminal");
        }
        if self.heard && self.exit.is_some_and(|exit| exit != 0) {
            assert!(!self.stderr.trim().is_empty(), "a failure without a word");
        }
        if self.json && !self.stdout.is_empty() {
            self.printed();
        }
        // The end of a killed process takes a moment.
        let start = Instant::now();
        let mut orphans = marked(&self.mark);
        while !orphans.is_empty() && start.elapsed() < std::time::Duration::from_secs(20) {
            std::thread::sleep(std::time::Duration::from_millis(10));
            orphans = marked(&self.mark);
        }
        for process in &orphans {
            signal(process.id, libc::SIGKILL);
        }
        assert!(orphans.is_empty(), "left behind: {orphans:?}");
        for (path, size) in files(self.dir.path()) {
            if self.before.get(&path) == Some(&size) {
                continue;
            }
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            // Only a process that was killed may leave a file in the making; the next one sweeps it.
            assert!(!name.starts_with('.') || self.signal == Some(libc::SIGKILL), "left behind: {name}");
            if name.ends_with(".json") {
                let text = fs::read_to_string(&path).unwrap();
                serde_json::from_str::<Value>(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
    }

    pub(crate) fn describe(&self) -> String {
        format!(
            "exit {:?}, signal {:?}\n--- stdout\n{}\n--- stderr\n{}\n---",
            self.exit, self.signal, self.stdout, self.stderr
        )
    }
}

/// The records of a directory, oldest first.
pub(crate) fn records(dir: &Path) -> Vec<PathBuf> {
    let is_record = |path: &PathBuf| {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        !hidden && path.extension().is_some_and(|extension| extension == "json")
    };
    let mut found: Vec<_> = files(dir).into_keys().filter(is_record).collect();
    found.sort();
    found
}

/// Every file below a directory with its size.
fn files(dir: &Path) -> BTreeMap<PathBuf, u64> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        match fs::symlink_metadata(entry.path()) {
            Ok(facts) if facts.is_dir() => found.extend(files(&entry.path())),
            Ok(facts) if facts.is_file() => drop(found.insert(entry.path(), facts.len())),
            _ => {}
        }
    }
    found
}

/// Calls the program in a scene that needs nothing, and expects an exit status.
pub(crate) fn call(args: &str, exit: i32) -> Outcome {
    let outcome = Scene::new(args).play(|_| {}).unwrap();
    outcome.check_manners();
    assert_eq!(outcome.exit, Some(exit), "tollgate {args}\n{}", outcome.describe());
    outcome
}

/// Fills a file until nothing more fits.
pub(crate) fn fill(path: &Path) -> io::Result<()> {
    let mut file = File::create(path)?;
    for size in [4096, 1] {
        while file.write_all(&vec![b'x'; size]).is_ok() {}
    }
    Ok(())
}
