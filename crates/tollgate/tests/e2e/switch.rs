//! `tollgate switch` from outside: what it prints, what it refuses, and what becomes of it when a program or a
//! compiler misbehaves.

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn tollgate() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.stdin(Stdio::null());
    command
}

fn output(args: &[&str]) -> Output {
    tollgate().arg("switch").args(args).output().expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The record that is printed, and the exit status.
fn measured(args: &[&str]) -> (Value, Option<i32>, String) {
    let done = output(&[args, &["--quick", "--json", "--no-save"]].concat());
    let said = text(&done.stderr);
    let run = serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("one JSON document: {said}"));
    (run, done.status.code(), said)
}

/// Exit status 2, and a sentence with this in it.
const WRONG: &[(&[&str], &str)] = &[
    (&["own", "0"], "the number of tasks is a whole number from 2 to 1000000, for example 50"),
    (&["own", "1"], "the number of tasks is a whole number from 2 to 1000000, for example 50"),
    (&["own", "-4"], "the number of tasks is a whole number from 2 to 1000000, for example 50"),
    (&["--tasks", "0"], "the number of tasks is a whole number from 2 to 1000000, for example 50"),
    (&["--tasks", "2,x"], "a whole number from 2"),
    (&["--tasks", "99999999999999999999"], "a whole number from 2 to 1000000"),
    (&["own", "2", "0"], "the number of switches is a whole number from 1 to"),
    (&["own", "2", "-1"], "the number of switches is a whole number from 1 to"),
    (&["--iterations", "0"], "the number of switches is a whole number from 1 to"),
    (&["--iterations", "18446744073709551616"], "a whole number from 1 to 1000000000000"),
    (&["--iterations", "1e6"], "a whole number from 1"),
    (&["tokyo"], "the nearest is 'tokio'"),
    (&["--runtime", "own,tokio/chanel"], "the nearest is 'tokio/channel'"),
    (
        &["own", "1000000", "--memory", "100M"],
        "1000000 tasks of 8.2 KiB and 7.6 MiB for the process need 7.8 GiB",
    ),
    (&["own", "1000000", "--memory", "100M"], "--memory is 100 MiB; use at most 11530 tasks"),
    (&["own", "--memory", "0"], "without memory nothing runs"),
    (&["own", "--memory", "much"], "is not a size"),
    (&["own", "--runtime", "tokio"], "cannot be used with"),
    (&["--growth", "--tasks", "2"], "cannot be used with"),
    (&["--program", "/nowhere/mine"], "--program /nowhere/mine: there is no program that may be run"),
    (&["--program", "/etc/passwd"], "there is no program that may be run"),
    (&["--runtimes", "/nowhere"], "name the folder that has a runtimes.toml"),
    (&["own", "--cpu", "99999"], "99999"),
    (&["own", "--cache", "/proc/nothing/here"], "/proc/nothing/here cannot be written"),
    (&["own", "--out", "/proc/nothing/here"], "/proc/nothing/here"),
];

#[test]
fn what_cannot_be_done_is_refused_with_what_can() {
    for (args, expected) in WRONG {
        let done = output(args);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(expected), "{args:?} should say {expected:?}: {said}");
        assert!(done.stdout.is_empty(), "{args:?}");
    }
}

/// A folder with a table of runtimes whose programs are shell scripts.
struct Scene {
    folder: tempfile::TempDir,
    table: String,
}

const GOOD: &str = r#"for word in "$@"; do case $word in batches=*) n=${word#*=};; batch=*) b=${word#*=};; esac; done
echo tollgate-runtime 1; echo version sh 1; echo clock 1 none; echo warm 10 steady
i=0; while [ $i -lt $n ]; do echo sample $b $((b * 10)); i=$((i + 1)); done
echo count switches $((n * b)); echo count resumes $((n * b)); echo end
"#;

impl Scene {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), table: String::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Adds a runtime that is this script, built by this command.
    fn runtime(mut self, id: &str, build: &str, script: &str) -> Self {
        fs::create_dir(self.path(id)).expect("a folder");
        script_at(&self.path(id).join("program"), script);
        self.table += &format!(
            "[[runtime]]\nid = '{id}'\nname = '{id}'\nlanguage = 'sh'\nfolder = '{id}'\nkind = 'thread'\n\
             build = [['sh', '-c', '{build}']]\nrun = ['sh', './program']\nbase_bytes = 1\n\
             mechanisms = [{{ id = 'yield', what = 'a test', task_bytes = 1 }}]\n"
        );
        fs::write(self.path("runtimes.toml"), &self.table).expect("the table");
        self
    }

    fn args(&self) -> Vec<String> {
        let text = |name| self.path(name).display().to_string();
        vec!["--runtimes".into(), text("."), "--cache".into(), text("cache")]
    }

    fn measured(&self, more: &[&str]) -> (Value, Option<i32>, String) {
        let args = self.args();
        measured(&[&args.iter().map(String::as_str).collect::<Vec<_>>()[..], more].concat())
    }
}

fn script_at(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}")).expect("a script");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("our own file");
}

fn row<'a>(run: &'a Value, probe: &str) -> &'a Value {
    let all = run["results"].as_array().expect("results");
    all.iter().find(|row| row["probe"] == probe).unwrap_or_else(|| panic!("{probe} in {run}"))
}

#[test]
fn what_misbehaves_costs_its_own_row_only() {
    let scene = Scene::new()
        .runtime("good", "true", GOOD)
        .runtime("no-compiler", "echo line 7: what is this >&2; exit 1", GOOD)
        .runtime("flood", "true", "yes sample 100 500 | head -n 1000000")
        .runtime("hang", "true", "sleep 1000 & sleep 1000")
        .runtime("silent", "true", "exit 0")
        .runtime("crash", "true", "kill -SEGV $$")
        .runtime("liar", "true", &GOOD.replace("resumes $((n * b))", "resumes $((n * b - 1))"));
    let (run, code, said) = scene.measured(&["--patience-ms", "1500"]);
    assert_eq!(code, Some(1), "{said}");
    let good = row(&run, "switch/good/yield");
    assert_eq!(good["status"], "measured", "{good}");
    assert!((good["ns"]["estimate"].as_f64().unwrap() - 10.0).abs() < 1e-6, "the script says 10 ns: {good}");
    assert_eq!(good["proof"]["resumes-per-switch"], 1.0);
    for (id, why) in [
        ("no-compiler", "line 7: what is this"),
        ("flood", "it printed more than"),
        ("hang", "its processes were ended"),
        ("silent", "it printed nothing"),
        ("crash", "signal 11 (SIGSEGV)"),
        ("liar", "counted where"),
    ] {
        let row = row(&run, &format!("switch/{id}/yield"));
        assert_eq!(row["status"], "failed", "{row}");
        assert!(row["ns"].is_null(), "{row}");
        let reason = row["reason"].as_str().unwrap();
        assert!(reason.contains(why), "{id}: {reason}");
    }
}

#[test]
fn a_missing_toolchain_is_a_skip_that_names_the_package() {
    let mut scene = Scene::new().runtime("good", "true", GOOD).runtime("absent", "true", GOOD);
    scene.table += "needs = []\n";
    let needs = "id = 'absent'\nneeds = [{ program = 'no-such-compiler', package = 'a-package' }]\n";
    let table = fs::read_to_string(scene.path("runtimes.toml")).unwrap().replace("id = 'absent'\n", needs);
    fs::write(scene.path("runtimes.toml"), table).unwrap();
    let (run, code, said) = scene.measured(&[]);
    assert_eq!(code, Some(0), "{said}");
    let row = row(&run, "switch/absent/yield");
    assert_eq!(row["status"], "skipped");
    assert_eq!(row["reason"], "no-such-compiler is missing");
    assert_eq!(row["enable"], "apt-get install a-package");
}

#[test]
fn a_cache_that_is_read_only_says_what_to_do() {
    // SAFETY: no arguments.
    if unsafe { libc::geteuid() } == 0 {
        // The superuser may write anywhere; a file in the way stops everybody.
        let scene = Scene::new().runtime("good", "true", GOOD);
        fs::write(scene.path("cache"), "").unwrap();
        let args = scene.args();
        let done = output(&args.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(done.status.code(), Some(2));
        let said = text(&done.stderr);
        assert!(said.contains("cannot be written") && said.contains("--cache DIR"), "{said}");
        return;
    }
    let scene = Scene::new().runtime("good", "true", GOOD);
    fs::create_dir(scene.path("cache")).unwrap();
    fs::set_permissions(scene.path("cache"), fs::Permissions::from_mode(0o555)).unwrap();
    let args = scene.args();
    let done = output(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("--cache DIR"));
}

#[test]
fn several_numbers_of_tasks_have_their_curve_in_the_record() {
    let scene = Scene::new().runtime("good", "true", GOOD);
    let (run, code, said) = scene.measured(&["--tasks", "2,10,50"]);
    assert_eq!(code, Some(0), "{said}");
    let series = &row(&run, "switch/good/yield")["series"][0];
    assert_eq!(series["name"], "cost");
    assert_eq!(series["points"].as_array().map(Vec::len), Some(3));
}

#[test]
fn iterations_are_switches_in_all() {
    let scene = Scene::new().runtime("good", "true", GOOD);
    let (run, code, said) = scene.measured(&["good", "50", "100000"]);
    assert_eq!(code, Some(0), "{said}");
    let row = row(&run, "switch/good/yield");
    let made = row["crossings"].as_u64().unwrap();
    // Whole batches, so a few more than were asked for.
    assert!((100_000..120_000).contains(&made), "{made}");
    assert_eq!(row["asked"]["tasks"], 50);
}

#[test]
fn a_program_of_ones_own_is_measured_beside_the_others() {
    let scene = Scene::new().runtime("good", "true", GOOD);
    script_at(&scene.path("mine"), GOOD);
    let mine = scene.path("mine").display().to_string();
    let (run, code, said) = measured(&["--program", &mine]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(run["results"].as_array().map(Vec::len), Some(1));
    assert_eq!(row(&run, "switch/mine/yield")["status"], "measured");
}

/// The example of the page, run unchanged.
#[test]
fn the_example_of_the_page_runs() {
    let page = include_str!("../../../../docs/howto/own-runtime.md");
    let (_, rest) = page.split_once("```python\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    if tollgate_testkit::program("python3").is_none() {
        return tollgate_testkit::skip!("python3 is missing: apt-get install python3");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine");
    fs::write(&path, example).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let (run, code, said) = measured(&["--program", path.to_str().unwrap(), "--tasks", "2,7"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(run["results"].as_array().is_some_and(|rows| rows.iter().all(|row| row["status"] == "measured")));
}

#[test]
fn an_interrupt_ends_the_program_and_keeps_the_record() {
    let scene = Scene::new().runtime("slow", "true", &format!("echo $$ > \"$HOME/pid\"; sleep 1000; {GOOD}"));
    let home = scene.path(".");
    let child = tollgate()
        .args(["switch", "--quick", "--no-save", "--json"])
        .args(scene.args())
        .env("HOME", &home)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let pid = || fs::read_to_string(home.join("pid")).ok()?.trim().parse::<i32>().ok();
    let until = |so: &dyn Fn() -> bool| {
        (0..12_000).any(|_| {
            so() || {
                std::thread::sleep(Duration::from_millis(10));
                false
            }
        })
    };
    assert!(until(&|| pid().is_some()), "the program starts");
    // SAFETY: a signal to our own child.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let done = child.wait_with_output().expect("it ends");
    assert_eq!(done.status.code(), Some(130), "{}", text(&done.stderr));
    let run: Value = serde_json::from_slice(&done.stdout).expect("one JSON document");
    assert_eq!(run["complete"], false);
    let program = pid().unwrap();
    let gone = until(&|| {
        !fs::read_to_string(format!("/proc/{program}/cmdline")).is_ok_and(|it| it.contains("program"))
    });
    assert!(gone, "process {program} is left");
}

#[test]
fn the_reason_of_a_failed_build_is_shown_once() {
    let compiler = "echo error: a semicolon is missing >&2; seq -f '%g: some frame' 12 >&2
                    [ -z \"$RUST_BACKTRACE\" ] || echo backtrace >&2; exit 1";
    let mut scene = Scene::new().runtime("broken", "sh ./compiler", GOOD);
    fs::write(scene.path("broken").join("compiler"), compiler).unwrap();
    scene.table = scene.table.replace(
        "mechanisms = [{ id = 'yield'",
        "mechanisms = [{ id = 'channel', what = 'a test', task_bytes = 1 }, { id = 'yield'",
    );
    let other = scene.table.replace("id = 'broken'\nname", "id = 'sibling'\nname");
    scene.table += &other;
    fs::write(scene.path("runtimes.toml"), &scene.table).unwrap();
    let mut command = tollgate();
    command.args(["switch", "--quick", "--no-save", "--json"]).args(scene.args()).env("RUST_BACKTRACE", "1");
    let done = command.output().expect("it starts");
    let run: Value = serde_json::from_slice(&done.stdout).expect("one JSON document");
    let reasons: Vec<&str> =
        run["results"].as_array().unwrap().iter().map(|row| row["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons.len(), 4, "{reasons:?}");
    assert!(reasons[0].contains("a semicolon is missing"), "{reasons:?}");
    assert!(!reasons[0].contains("12: some frame") && !reasons[0].contains("backtrace"), "{reasons:?}");
    for reason in &reasons[1..] {
        assert_eq!(*reason, "its build failed: see broken/channel");
    }
    assert_eq!(text(&done.stderr).matches("semicolon").count(), 1, "{}", text(&done.stderr));
}

#[test]
fn sigkill_keeps_the_rows_that_were_measured() {
    // The second row to be run never ends.
    let once = format!(
        "[ -e \"$HOME/second\" ] && sleep 1000; case \"$*\" in *singles=0*) ;; *) touch \"$HOME/second\";; esac; {GOOD}"
    );
    let scene = Scene::new().runtime("one", "true", &once).runtime("two", "true", &once);
    let home = scene.path(".");
    let mut child = tollgate()
        .args(["switch", "--quick", "--store"])
        .arg(scene.path("store"))
        .args(scene.args())
        .env("HOME", &home)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let saved = || -> Option<Value> {
        let records = fs::read_dir(scene.path("store")).ok()?.flatten().map(|entry| entry.path());
        let record = records.filter(|path| path.extension().is_some_and(|it| it == "json")).last()?;
        serde_json::from_str(&fs::read_to_string(record).ok()?).ok()
    };
    let mut run = None;
    for _ in 0..12_000 {
        run = saved().filter(|run| run["results"].as_array().is_some_and(|rows| !rows.is_empty()));
        if run.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().expect("it waits for the second row");
    child.wait().expect("it ends");
    let run = run.expect("the first row is saved while the second runs");
    assert_eq!(run["complete"], false);
    let rows = run["results"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["status"]), (1, &Value::from("measured")), "{run:#}");
}

#[test]
fn sigkill_leaves_no_process_of_a_runtime() {
    let leaves = "setsid sleep 1000 & echo $! >> \"$HOME/pids\"; sh -c 'setsid sleep 1001 & echo $! >> \"$HOME/pids\"'; \
                  echo $$ >> \"$HOME/pids\"; exec sleep 1002";
    let scene = Scene::new().runtime("leaves", "true", leaves);
    let home = scene.path(".");
    let mut child = tollgate()
        .args(["switch", "--quick", "--no-save"])
        .args(scene.args())
        .env("HOME", &home)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let pids = || -> Vec<i32> {
        let text = fs::read_to_string(home.join("pids")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    };
    let asleep = |pid: &i32| {
        fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains("(sleep)"))
    };
    let until = |so: &dyn Fn() -> bool| {
        (0..12_000).any(|_| {
            so() || {
                std::thread::sleep(Duration::from_millis(10));
                false
            }
        })
    };
    assert!(until(&|| pids().len() == 3 && pids().iter().all(asleep)), "the program and its children run");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert!(until(&|| !pids().iter().any(asleep)), "left behind: {:?}", pids());
}

#[test]
fn the_table_is_readable_and_fits() {
    let scene = Scene::new().runtime("good", "true", GOOD).runtime("silent", "true", "exit 0");
    let args = scene.args();
    let done = output(
        &[&args.iter().map(String::as_str).collect::<Vec<_>>()[..], &["--quick", "--no-save"]].concat(),
    );
    let table = text(&done.stdout);
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    for part in
        ["Threads of the system: 2 tasks", "good/yield", "10.0", "silent/yield  failed: it printed nothing"]
    {
        assert!(table.contains(part), "{part}: {table}");
    }
}
