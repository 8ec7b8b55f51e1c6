//! Every runtime that this machine can build follows the protocol, and every violation of the protocol is noticed,
//! fails only that row, and leaves no process.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tollgate_measure::clock::Source;
use tollgate_runtime::cache::BuildError;
use tollgate_runtime::session::{Event, Plan, Row, Session, Setting, State, once, once_together};
use tollgate_runtime::transcript::Asked;
use tollgate_runtime::{Cache, Kind, Mechanism, Room, Runtime, Sources, Table, needs};

fn setting(cache: &Path) -> Setting {
    // Any CPU that this process may use.
    let cpu = tollgate_measure::placement::allowed().unwrap().pop().unwrap();
    Setting {
        cpu,
        source: Source::best(),
        patience_ms: 60_000,
        room: Room { bytes: 4 << 30, bound: "--memory" },
        cache: Cache::new(cache),
        sources: Sources::Embedded,
    }
}

/// Builds are kept between runs of the tests, as they are between runs of the tool.
fn kept() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("runtimes")
}

/// Two at a time: most of the time goes to building them.
#[test]
fn every_runtime_that_is_present_speaks_the_protocol() {
    let setting = setting(&kept());
    let table = Table::parse(&Sources::Embedded.table().unwrap()).unwrap();
    let (go, next, wrong) = (AtomicBool::new(false), AtomicUsize::new(0), Mutex::new(Vec::new()));
    let wrong_here = |why: String| wrong.lock().unwrap().push(why);
    let work = || {
        while let Some(runtime) = table.runtimes.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Some(missing) = needs::missing(runtime, &mut needs::Tried::new(), &go) {
                tollgate_testkit::skip_case!(&runtime.id, "{}: {}", missing.reason, missing.enable);
                continue;
            }
            let folder = match setting.cache.folder(runtime, &setting.sources, &go, &mut |_| {}) {
                Ok(folder) => folder,
                // A package manager without a network is not a fault of the runtime.
                Err(BuildError::Failed(_, _, stderr)) if offline(&stderr) => {
                    tollgate_testkit::skip_case!(
                        &runtime.id,
                        "its package manager cannot reach a registry: a network"
                    );
                    continue;
                }
                Err(error) => {
                    wrong_here(format!("{}: {error}", runtime.id));
                    continue;
                }
            };
            if runtime.together {
                let rows = runtime.mechanisms.iter().map(|mechanism| {
                    let mut row = Row::new(runtime, mechanism, 1, setting.room);
                    row.folder = Some(folder.clone());
                    row
                });
                let rows: Vec<Row> = rows.collect();
                // Rows with fewer batches must not be printed before those with more.
                let ask =
                    |batch| Asked { tasks: 1, batches: 7 - batch % 4, batch, singles: 0, tolerance: 0.0 };
                let asked: Vec<Asked> = (40..).take(rows.len()).map(ask).collect();
                match once_together(&rows.iter().collect::<Vec<_>>(), &asked, &setting) {
                    Ok(said) => assert_eq!(said.len(), rows.len(), "{}", runtime.id),
                    Err(State::Skipped(why, _)) => tollgate_testkit::skip_case!(&runtime.id, "{why}"),
                    Err(state) => wrong_here(format!("{} together: {state:?}", runtime.id)),
                }
            }
            for mechanism in &runtime.mechanisms {
                for tasks in [mechanism.min_tasks, 5.clamp(mechanism.min_tasks, mechanism.max_tasks)] {
                    let mut row = Row::new(runtime, mechanism, tasks, setting.room);
                    row.folder = Some(folder.clone());
                    if row.state != State::Active {
                        continue;
                    }
                    let asked = Asked {
                        tasks,
                        batches: 5,
                        batch: 40 * tasks,
                        singles: 10,
                        tolerance: mechanism.tolerance,
                    };
                    match once(&row, &asked, &setting) {
                        Ok(said)
                            if said.version.is_empty() || said.clock.1.is_empty() || said.rss.is_none() =>
                        {
                            wrong_here(format!(
                                "{}: no version, clock or resident size: {said:?}",
                                row.name()
                            ));
                        }
                        Ok(_) => {}
                        Err(State::Skipped(why, _)) => tollgate_testkit::skip_case!(&row.name(), "{why}"),
                        Err(state) => wrong_here(format!("{} with {tasks} tasks: {state:?}", row.name())),
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn offline(stderr: &[String]) -> bool {
    let said = stderr.join("\n").to_lowercase();
    [
        "resolve host",
        "name resolution",
        "network",
        "could not connect",
        "failed to download",
        "connection refused",
    ]
    .iter()
    .any(|word| said.contains(word))
}

/// A row whose program is this shell script.
fn row(folder: &Path, script: &str) -> Row {
    let path = folder.join("program");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let mechanism = Mechanism {
        id: "yield".into(),
        what: "a test".into(),
        task_bytes: 1,
        kind: None,
        max_tasks: 100,
        min_tasks: 2,
        tolerance: 0.0,
        default: true,
        part: None,
    };
    let runtime = Runtime {
        id: "hostile".into(),
        name: "hostile".into(),
        language: "sh".into(),
        folder: "hostile".into(),
        kind: Kind::Thread,
        needs: Vec::new(),
        together: false,
        warm_min_ms: 0,
        version: Vec::new(),
        build: Vec::new(),
        run: vec!["./program".into()],
        env: BTreeMap::new(),
        base_bytes: 1,
        mechanisms: vec![mechanism.clone()],
    };
    let mut row = Row::new(&runtime, &mechanism, 2, Room { bytes: 1 << 30, bound: "--memory" });
    row.folder = Some(folder.into());
    row
}

const ASKED: Asked = Asked { tasks: 2, batches: 2, batch: 100, singles: 0, tolerance: 0.0 };

const HEAD: &str = "echo tollgate-runtime 1; echo version sh 1; echo clock 1 none; echo warm 10 steady;";
const SAMPLES: &str = "echo sample 100 500; echo sample 100 500;";
const COUNTS: &str = "echo count switches 200; echo count resumes 200;";

fn why(script: &str, patience_ms: u64) -> String {
    let folder = tempfile::tempdir().unwrap();
    let setting =
        Setting { patience_ms, room: Room { bytes: 64 << 20, bound: "--memory" }, ..setting(folder.path()) };
    match once(&row(folder.path(), script), &ASKED, &setting) {
        Err(State::Failed(why)) => why,
        other => panic!("{script}: {other:?}"),
    }
}

#[test]
fn a_good_program_passes() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("{HEAD} {SAMPLES} {COUNTS} echo end");
    let said = once(&row(folder.path(), &script), &ASKED, &setting(folder.path())).unwrap();
    assert_eq!(said.switches, 200);
}

/// Measures the mechanisms `good` and `bad` of a program that runs the first script when asked for several and the second
/// before each mechanism's answer, in which every batch takes `$ns`. What each run of the program was asked for, and the
/// rows.
fn together(on_several: &str, before_each: &str, plan: &Plan) -> (Vec<String>, Vec<Row>) {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        r#"for argument; do case $argument in mechanism=*|batches=*|batch=*) eval "$argument";; esac; done
        echo "$mechanism" >> log
        case $mechanism in bad) exit 4;; *,*) {on_several};; esac
        for mechanism in $(echo "$mechanism" | tr , ' '); do
            {HEAD} ns=500
            {before_each}
            for _ in $(seq "${{batches%%,*}}"); do echo "sample ${{batch%%,*}} $ns"; done
            all=$((${{batches%%,*}} * ${{batch%%,*}}))
            echo "count switches $all"; echo "count resumes $all"; echo end
        done"#
    );
    let first = row(folder.path(), &script);
    let rows = ["good", "bad"].map(|id| {
        let mut row = first.clone();
        row.mechanism.id = id.into();
        row.runtime.together = true;
        row
    });
    let mut session = Session::new(rows.into());
    let tell = &mut |_: Event<'_>| ControlFlow::Continue(());
    session.run(plan, &setting(folder.path()), &AtomicBool::new(false), tell).unwrap();
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    (log.lines().map(Into::into).collect(), session.rows)
}

fn twice() -> Plan {
    Plan { epochs: 2, ..Plan::borders(false, false) }
}

#[test]
fn further_processes_are_of_wide_rows_until_they_are_narrow() {
    // Longer than any test: what ends it is that the rows are narrow.
    let plan = Plan { epochs: 6, further: Duration::from_secs(3_600), ..Plan::borders(false, false) };
    // Every second of the first eight processes.
    let wavers = "case $mechanism,$(wc -l < log) in good,[2468]) ns=900;; esac";
    let (asked, rows) = together("", wavers, &plan);
    let epochs = rows.iter().map(|row| row.epochs.len()).collect::<Vec<_>>();
    // With the run that finds the batches, the six epochs of both are processes 1 to 7.
    assert_eq!(asked.iter().filter(|asked| asked.contains(',')).count(), 7, "{asked:?}");
    assert_eq!(epochs[1], 6, "{asked:?}");
    assert!(epochs[0] > 6 && asked[7..].iter().all(|asked| asked == "good"), "{asked:?}");
}

#[test]
fn rows_that_share_a_process_are_measured_by_one_run_in_each_epoch() {
    let (asked, rows) = together("", "", &twice());
    // The run that finds the length of the batches, and the two epochs.
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert!(asked.iter().all(|mechanisms| mechanisms.contains(',')), "{asked:?}");
    assert!(rows.iter().all(|row| row.state == State::Active && row.epochs.len() == 2));
}

#[test]
fn when_rows_together_fail_each_is_measured_alone() {
    let (asked, rows) = together("exit 3", "", &twice());
    assert_eq!((&rows[0].state, rows[0].epochs.len()), (&State::Active, 2), "{asked:?}");
    assert!(matches!(&rows[1].state, State::Failed(why) if why.contains("status 4")), "{:?}", rows[1].state);
}

#[test]
fn each_violation_of_the_protocol_is_a_reason_without_a_figure() {
    for (script, said) in [
        (String::new(), "it printed nothing"),
        ("echo Segmentation fault".into(), "its first line is 'Segmentation fault'"),
        ("head -c 3000 /dev/urandom".into(), "its first line is"),
        (format!("{HEAD} {SAMPLES} {COUNTS}"), "without 'end'"),
        (format!("{HEAD} {SAMPLES} {COUNTS} echo end; echo more"), "follows 'end'"),
        (format!("{HEAD} {SAMPLES} {COUNTS} echo end; exit 3"), "it ended with status 3"),
        (format!("{HEAD} {SAMPLES} {COUNTS} echo end; kill -SEGV $$"), "signal 11 (SIGSEGV)"),
        (
            format!("{HEAD} {SAMPLES} echo count switches 200; echo count resumes 199; echo end"),
            "199 counted where 200",
        ),
        (
            format!("{HEAD} {SAMPLES} echo count switches 100; echo count resumes 200; echo end"),
            "100 counted where 200",
        ),
        (format!("{HEAD} echo sample 100 500; {COUNTS} echo end"), "expected 2 batches, found 1"),
        (format!("{HEAD} echo sample 100 0; {SAMPLES} {COUNTS} echo end"), "not part of the protocol"),
        (format!("{HEAD} echo no memory >&2; exit 1"), "its last output: no memory"),
        ("yes sample 100 500 | head -n 1000000".into(), "it printed more than"),
        ("exec cat /dev/zero".into(), "it printed more than"),
        ("exec ./not-there 2>/dev/null".into(), "status 127"),
    ] {
        let why = why(&script, 20_000);
        assert!(why.contains(said), "{script}: {why}");
    }
}

#[test]
fn a_program_that_hangs_is_ended_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    // One child in the group, one that has left it, and a leader that waits forever.
    let script = format!(
        "sleep 1000 & echo $! >> {0}; setsid sleep 1000 & echo $! >> {0}; sleep 1000",
        pids.display()
    );
    let began = Instant::now();
    let said = why(&script, 700);
    assert!(said.contains("its processes were ended"), "{said}");
    // Far from both the thousand seconds and anything that a busy machine adds.
    assert!(began.elapsed() < Duration::from_secs(300));
    let ids: Vec<i32> =
        fs::read_to_string(&pids).unwrap().lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(ids.len(), 2);
    for id in ids {
        let sleeps =
            || fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|name| name.trim() == "sleep");
        let gone = (0..500).any(|_| {
            !sleeps() || {
                std::thread::sleep(Duration::from_millis(10));
                false
            }
        });
        assert!(gone, "process {id} is left");
    }
}

#[test]
fn a_program_that_leaves_something_behind_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("{HEAD} {SAMPLES} {COUNTS} echo end; sleep 1000 &");
    assert!(once(&row(folder.path(), &script), &ASKED, &setting(folder.path())).is_ok());
}

#[test]
fn a_program_above_its_memory_limit_is_ended() {
    // The shell keeps the whole text in memory.
    let said = why("x=$(head -c 300000000 /dev/zero | tr '\\0' x); sleep 1000", 60_000);
    assert!(said.contains("of memory, above the limit of 64 MiB"), "{said}");
}

#[test]
fn a_missing_program_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut row = row(folder.path(), "exit 0");
    row.runtime.run = vec!["./nothing".into()];
    let state = once(&row, &ASKED, &setting(folder.path())).unwrap_err();
    assert!(
        matches!(&state, State::Failed(why) if why.contains("'./nothing' cannot be started")),
        "{state:?}"
    );
}
