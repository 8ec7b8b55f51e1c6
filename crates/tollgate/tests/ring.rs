//! `tollgate ring` and `tollgate lat_ctx` from outside: what they print, what they refuse, and what becomes
//! of them when something goes wrong in the middle.

mod rings;

use rings::{Started, binary, finished, output, results, text};
use serde_json::Value;
use std::fs;
use std::io::Read as _;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Exit status 2, and a sentence with this in it.
const WRONG: &[(&[&str], &str)] = &[
    (&["ring", "--procs", "0"], "at least 2 tasks"),
    (&["ring", "--procs", "1"], "at least 2 tasks"),
    (&["ring", "--procs", "-3"], "at least 2 tasks"),
    (&["ring", "--procs", "two"], "a whole number from 2"),
    (&["ring", "--procs", "2,"], "a whole number from 2"),
    (&["ring", "--procs", "9999999"], "at most 1000000"),
    (&["ring", "--size", "abc"], "is not a size"),
    (&["ring", "--size", "-1"], "is not a size"),
    (&["ring", "--size", "16KX"], "is not a size"),
    (&["ring", "--size", "99999999999G"], "more than an address can name"),
    (&["ring", "--procs", "64", "--size", "1024G"], "64 processes with 1 TiB each"),
    (&["ring", "--procs", "2", "--size", "16777216G"], "use a --size of at most"),
    (&["ring", "--medium", "smoke"], "[possible values: pipe, futex, eventfd, socketpair]"),
    (&["ring", "--tasks", "fiber"], "[possible values: process, thread]"),
    (&["ring", "--placement", "moon"], "[possible values: one-cpu, siblings, spread]"),
    (&["ring", "--walk", "run"], "[possible values: sum, random, write]"),
    (&["ring", "--pages", "8k"], "[possible values: 4k, huge, random]"),
    (&["ring", "--watchdog", "0"], "0 is not in 1.."),
    (&["ring", "--cpu", "99999"], "99999"),
    (&["ring", "--cpu", "-1"], "a CPU is a whole number"),
    (&["ring", "--seed", "x"], "a seed is a whole number"),
    (&["lat_ctx"], "<procs>"),
    (&["lat_ctx", "0"], "at least 2 tasks"),
    (&["lat_ctx", "1"], "at least 2 tasks"),
    (&["lat_ctx", "-2"], "at least 2 tasks"),
    (&["lat_ctx", "abc"], "a whole number from 2"),
    (&["lat_ctx", "-s", "abc", "2"], "is not a size"),
    (&["lat_ctx", "-s", "-4", "2"], "is not a size"),
    (&["lat_ctx", "-s", "1024G", "2"], "-s: 2 processes with 1 TiB each"),
    (&["lat_ctx", "-s", "99999999999G", "2"], "more than an address can name"),
    (&["lat_ctx", "-P", "0", "2"], "rings side by side is a whole number from 1"),
    (&["lat_ctx", "-N", "0", "2"], "repetitions is a whole number from 1"),
    (&["lat_ctx", "-W", "-1", "2"], "microseconds of warm-up is a whole number from 0"),
];

#[test]
fn what_cannot_be_done_is_refused_before_anything_runs() {
    for (args, expected) in WRONG {
        let done = output(args);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(expected), "{args:?} should say {expected:?}: {said}");
        assert!(done.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn an_unwritable_store_and_output_are_said_before_anything_runs() {
    for args in [
        ["ring", "--quick", "--store", "/proc/nothing/here"],
        ["ring", "--quick", "--out", "/proc/nothing/here"],
    ] {
        let done = output(&args);
        assert_eq!(done.status.code(), Some(2), "{args:?}");
        assert!(text(&done.stderr).contains("/proc/nothing/here"), "{args:?}: {}", text(&done.stderr));
    }
}

/// What scripts read: after an empty line the size and the overhead, then processes and microseconds.
fn is_lmbench(said: &str, size: &str, procs: &[&str]) -> bool {
    let two_decimals = |number: &str| {
        number.split_once('.').is_some_and(|(whole, part)| {
            part.len() == 2 && (whole.to_owned() + part).trim_start_matches('-').parse::<u32>().is_ok()
        })
    };
    let mut lines = said.split('\n');
    lines.next() == Some("")
        && lines
            .next()
            .and_then(|line| line.strip_prefix(&format!("\"size={size}k ovr=")))
            .is_some_and(two_decimals)
        && procs.iter().all(|procs| {
            lines.next().and_then(|line| line.strip_prefix(&format!("{procs} "))).is_some_and(two_decimals)
        })
        && lines.next() == Some("")
        && lines.next().is_none()
}

#[test]
fn lat_ctx_says_on_a_terminal_what_it_measures() {
    let (mut ours, mut theirs) = (-1, -1);
    let none = std::ptr::null_mut();
    // SAFETY: the first two arguments are valid places for descriptors; no name, settings or size is given.
    let opened = unsafe { libc::openpty(&mut ours, &mut theirs, none, std::ptr::null(), std::ptr::null()) };
    assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: both descriptors were just opened and nothing else owns them.
    let (ours, theirs) = unsafe { (fs::File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
    let mut command = Command::new(binary());
    command.args(["lat_ctx", "-N", "1", "--no-save", "2"]).env("TERM", "xterm").stderr(theirs);
    let mut child = command.spawn().expect("it starts");
    drop(command);
    let mut shown = Vec::new();
    // Reading ends with an error when the last user of the terminal has closed it.
    let _ = (&ours).read_to_end(&mut shown);
    assert!(child.wait().expect("it ends").success());
    let shown = text(&shown);
    let progress = shown.find("ring of 2").unwrap_or_else(|| panic!("{shown:?}"));
    assert!(shown.find("\"size=0k").is_some_and(|line| progress < line), "{shown:?}");
}

#[test]
fn lat_ctx_prints_what_lmbench_prints() {
    let done = output(&[
        "lat_ctx",
        "--quick",
        "--no-save",
        "-P",
        "1",
        "-W",
        "100",
        "-N",
        "2",
        "-s",
        "16k",
        "2",
        "3",
        "24",
    ]);
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert!(is_lmbench(&said, "16", &["2", "3", "24"]), "{said:?}");
    assert!(done.stdout.is_empty());
}

#[test]
fn a_link_of_that_name_is_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let link = folder.path().join("lat_ctx");
    symlink(binary(), &link).expect("a link");
    let done = std::process::Command::new(link)
        .args(["--quick", "--no-save", "-P", "2", "-N", "1", "-s", "0", "2"])
        .output()
        .expect("it starts");
    assert!(is_lmbench(&text(&done.stderr), "0", &["2"]), "{:?}", text(&done.stderr));
    assert_eq!(done.status.code(), Some(0));
}

#[test]
fn the_record_has_the_bill_and_the_proof_of_each_cell() {
    let done = output(&[
        "ring",
        "--quick",
        "--no-save",
        "--json",
        "--seed",
        "5",
        "--procs",
        "2,3",
        "--size",
        "0,4K",
    ]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let run: Value = serde_json::from_slice(&done.stdout).expect("one JSON document");
    assert_eq!(run["seed"], 5);
    assert_eq!(run["complete"], true);
    let cells = results(&run);
    assert_eq!(cells.len(), 4);
    for cell in cells {
        assert_eq!(cell["probe"], "ring/pipe");
        assert_eq!(cell["status"], "measured", "{cell}");
        assert!(cell["proof"]["switches-per-crossing"].as_f64().is_some_and(|count| count > 0.9), "{cell}");
        let names: Vec<&str> = cell["phases"]
            .as_array()
            .expect("a bill")
            .iter()
            .filter_map(|phase| phase["name"].as_str())
            .collect();
        assert!(names.contains(&"hot-work") && names.contains(&"direct-switch"), "{names:?}");
        assert_eq!(names.contains(&"run-queue"), cell["asked"]["procs"] == 3, "{names:?}");
        assert_eq!(names.contains(&"refill"), cell["asked"]["size"] == 4096, "{names:?}");
    }
}

#[test]
fn every_medium_task_walk_and_placement_runs() {
    for args in [
        &["--medium", "futex", "--tasks", "thread"][..],
        &["--medium", "eventfd", "--walk", "random"],
        &["--medium", "socketpair", "--walk", "write", "--pages", "random"],
        &["--placement", "spread"],
    ] {
        let fixed = ["ring", "--quick", "--no-save", "--procs", "3", "--size", "4K"];
        let done = output(&[&fixed, args].concat());
        let said = text(&done.stderr);
        if done.status.code() == Some(2) && said.contains("two CPUs") {
            tollgate_testkit::skip_case!("spread", "one CPU only: allow a second one");
            continue;
        }
        assert_eq!(done.status.code(), Some(0), "{args:?}: {said}");
    }
}

#[test]
fn one_of_a_thousand_killed_is_told_and_nothing_is_left() {
    let ring = Started::new(&["--procs", "2,1000", "--size", "0", "--thorough", "--no-save", "--json"]);
    let tasks = ring.wait_for_tasks(1_000);
    rings::kill(tasks[tasks.len() / 2], libc::SIGKILL);
    let (code, stdout, said) = finished(ring);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("killed by signal 9"), "{said}");
    let run: Value = serde_json::from_str(&stdout).expect("one JSON document");
    let cells = results(&run);
    assert_eq!(cells[0]["status"], "measured", "the cell before is kept");
    assert_eq!(cells[1]["status"], "failed");
    rings::all_gone(&tasks);
}

#[test]
fn a_stuck_ring_is_ended_by_the_watchdog() {
    let ring = Started::new(&["--procs", "40", "--size", "0", "--thorough", "--watchdog", "2", "--no-save"]);
    let tasks = ring.wait_for_tasks(40);
    rings::kill(tasks[20], libc::SIGSTOP);
    let (code, _, said) = finished(ring);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("no answer within 2 s; its processes were ended"), "{said}");
    rings::all_gone(&tasks);
}

/// The run in a store, once it has a result.
fn saved(store: &Path) -> Option<Value> {
    let files = fs::read_dir(store).expect("the store").flatten();
    let runs = files.filter_map(|file| serde_json::from_slice(&fs::read(file.path()).ok()?).ok());
    runs.filter(|run: &Value| run["results"].as_array().is_some_and(|cells| !cells.is_empty())).last()
}

/// A ring with a store, interrupted by a signal in its second cell.
fn interrupted(signal: i32) -> (Option<i32>, String, Value, Vec<i32>) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().to_str().expect("a name in UTF-8");
    let ring = Started::new(&["--procs", "2,30", "--size", "0", "--thorough", "--store", store]);
    let tasks = ring.wait_for_tasks(30);
    rings::kill(ring.id(), signal);
    let (code, _, said) = finished(ring);
    (code, said, saved(folder.path()).expect("the run is still there"), tasks)
}

/// The first cell is there, and the second only with what it has measured.
fn check_interrupted(run: &Value) {
    assert_eq!(run["complete"], false);
    let cells = results(run);
    assert!(cells.len() == 1 || cells.len() == 2, "{}", cells.len());
    for (cell, procs) in cells.iter().zip([2, 30]) {
        assert_eq!((&cell["asked"]["procs"], &cell["status"]), (&procs.into(), &"measured".into()));
        assert!(cell["samples"].as_u64().is_some_and(|samples| samples > 0), "{procs}");
    }
}

#[test]
fn an_interrupt_keeps_the_finished_cells() {
    let (code, said, run, tasks) = interrupted(libc::SIGINT);
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("interrupted"), "{said}");
    check_interrupted(&run);
    rings::all_gone(&tasks);
}

#[test]
fn even_when_killed_the_finished_cells_survive_and_no_task_does() {
    let (code, _, run, tasks) = interrupted(libc::SIGKILL);
    assert_eq!(code, None);
    check_interrupted(&run);
    rings::all_gone(&tasks);
}

#[test]
fn a_single_cell_is_saved_while_it_is_measured() {
    for signal in [libc::SIGINT, libc::SIGKILL] {
        let folder = tempfile::tempdir().expect("a folder");
        let store = folder.path().to_str().expect("a name in UTF-8");
        let ring = Started::new(&["--procs", "40", "--size", "0", "--thorough", "--store", store]);
        rings::until("a saved cell", || saved(folder.path()).is_some());
        rings::kill(ring.id(), signal);
        let (code, ..) = finished(ring);
        assert_eq!(code, if signal == libc::SIGINT { Some(130) } else { None });
        let run = saved(folder.path()).expect("the run is still there");
        let cells = results(&run);
        assert_eq!((&run["complete"], cells.len()), (&false.into(), 1), "signal {signal}");
        assert_eq!((&cells[0]["asked"]["procs"], &cells[0]["status"]), (&40.into(), &"measured".into()));
    }
}

#[test]
fn a_fork_that_fails_half_way_names_the_limit_and_keeps_the_cell_before() {
    let args = ["--procs", "2,200", "--size", "0", "--quick", "--no-save", "--json"];
    let Some(ring) = Started::as_nobody(&args, &[(libc::RLIMIT_NPROC, 60)]) else {
        return tollgate_testkit::skip!("not root: run as root, so that the ring can run as another user");
    };
    let (code, stdout, said) = finished(ring);
    let run: Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("one JSON document: {said}"));
    let cells = results(&run);
    assert_eq!(cells[0]["status"], "measured", "{}", cells[0]);
    let why = cells[1]["reason"].as_str().expect("a reason");
    assert!(why.contains("RLIMIT_NPROC is 60 and 200 are needed"), "{why}");
    assert!(why.contains("of the ring's 200 tasks had started"), "{why}");
    assert_eq!(code, Some(1), "{said}");
}

#[test]
fn too_few_descriptors_name_the_limit() {
    let args = ["--procs", "300", "--tasks", "thread", "--size", "0", "--quick", "--no-save", "--json"];
    let Some(ring) = Started::as_nobody(&args, &[(libc::RLIMIT_NOFILE, 128)]) else {
        return tollgate_testkit::skip!("not root: run as root, so that the ring can run as another user");
    };
    let (code, stdout, said) = finished(ring);
    let run: Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("one JSON document: {said}"));
    let why = results(&run)[0]["reason"].as_str().expect("a reason");
    assert!(why.contains("RLIMIT_NOFILE is 128"), "{why}");
    assert_eq!(code, Some(1), "{said}");
}
