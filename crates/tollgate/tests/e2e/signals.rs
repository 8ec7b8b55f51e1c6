//! Signals in mid-run: what was measured is printed and saved, and no process is left.

use crate::case::{ANY, CASE, Case, go_through};
use crate::json;
use crate::processes::signal;
use crate::scene::{Outcome, PROGRAM, Scene, records};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

#[test]
fn signals() {
    go_through("e2e::signals::signals", CASES);
}

/// Long enough that it never ends by itself before the signal comes.
const LONG: &str = "run null syscall/getppid process/futex --quick --budget-ms 100000 --store {dir}/store";
const SHORT: &str = "run null syscall/getppid process/futex --quick --budget-ms 3000 --store {dir}/store";

/// The status of shells: 128 and the number of the signal.
const BY_SIGINT: i32 = 130;

const INTERRUPTED: Case = Case {
    args: LONG,
    exit: BY_SIGINT,
    says: &["interrupted; the table has what was measured until then", "tollgate show"],
    prints: &["getppid", "null"],
    during: |running| after_saving(running, libc::SIGINT),
    then: |outcome| {
        let run = outcome.saved();
        assert_eq!(run["complete"], false);
        assert!(json::statuses(&run).contains(&"measured".to_owned()), "{run:#}");
    },
    ..CASE
};

/// A program of the user that gives no answer.
const SLOW_SWITCH: Case = Case {
    args: "switch --program {dir}/slow --store {dir}/store",
    exit: BY_SIGINT,
    says: &["interrupted; the table has what was measured until then"],
    scene: |scene| {
        scene.file("slow", "#!/bin/sh\nexec sleep 1000\n");
        fs::set_permissions(scene.path("slow"), Permissions::from_mode(0o755)).map_err(|it| it.to_string())
    },
    during: |running| {
        running.handles(libc::SIGINT);
        running.signal(libc::SIGINT);
    },
    then: incomplete,
    ..CASE
};

/// The program by another name, to compare it with itself.
fn copied(scene: &mut Scene) -> Result<(), String> {
    let copy = scene.path("tollgate");
    fs::hard_link(PROGRAM, &copy).or_else(|_| fs::copy(PROGRAM, &copy).map(drop)).map_err(|it| it.to_string())
}

fn incomplete(outcome: &Outcome) {
    assert_eq!(outcome.saved()["complete"], false);
}

pub(crate) const CASES: &[Case] = &[
    Case { name: "SIGINT", during: |running| after_saving(running, libc::SIGINT), ..INTERRUPTED },
    Case {
        name: "SIGTERM",
        exit: 143,
        during: |running| after_saving(running, libc::SIGTERM),
        ..INTERRUPTED
    },
    Case { name: "SIGHUP", exit: 129, during: |running| after_saving(running, libc::SIGHUP), ..INTERRUPTED },
    Case {
        name: "SIGINT of ring",
        args: "ring --procs 2 --size 0,1K,2K,3K,4K,5K,6K,7K,8K,9K,10K,11K --store {dir}/store --thorough",
        prints: &["ring"],
        ..INTERRUPTED
    },
    Case {
        name: "SIGTERM of ring",
        args: "ring --procs 2 --size 0,1K,2K,3K,4K,5K,6K,7K,8K,9K,10K,11K --store {dir}/store --thorough",
        exit: 143,
        prints: &["ring"],
        during: |running| after_saving(running, libc::SIGTERM),
        ..INTERRUPTED
    },
    Case {
        name: "SIGINT of lat_ctx, whose standard error is lmbench's",
        args: "lat_ctx --store {dir}/store -N 1000 2 3 4 5 6 7 8 9 10",
        says: &["lat_ctx: interrupted"],
        prints: &[],
        then: incomplete,
        ..INTERRUPTED
    },
    Case {
        name: "SIGINT of crossing",
        args: "crossing --no-guest --budget-ms 100000 --store {dir}/store",
        prints: &["getppid"],
        ..INTERRUPTED
    },
    Case {
        name: "SIGTERM of crossing",
        args: "crossing --no-guest --budget-ms 100000 --store {dir}/store",
        exit: 143,
        prints: &["getppid"],
        during: |running| after_saving(running, libc::SIGTERM),
        ..INTERRUPTED
    },
    Case {
        name: "SIGINT of fault kinds",
        args: "fault kinds --budget-ms 100000 --store {dir}/store",
        prints: &["anonymous"],
        ..INTERRUPTED
    },
    Case {
        name: "SIGINT of fault scan",
        args: "fault scan --size 1M,2M,3M,4M,5M,6M,7M,8M,9M,10M,11M,12M,13M,14M,15M,16M,17M,18M,19M,20M,21M,22M,23M,24M,25M \
               --pattern random --store {dir}/store",
        prints: &[],
        ..INTERRUPTED
    },
    Case {
        name: "SIGINT of a comparison",
        args: "run null syscall/getppid --against {dir}/tollgate --budget-ms 100000 --store {dir}/store",
        prints: &[],
        scene: copied,
        then: |outcome| {
            let paths = records(&outcome.path("store"));
            assert_eq!(paths.len(), 2);
            for path in paths {
                let run: serde_json::Value =
                    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
                assert_eq!(run["complete"], false);
            }
        },
        ..INTERRUPTED
    },
    Case { name: "SIGINT of switch", ..SLOW_SWITCH },
    Case {
        name: "SIGTERM of switch",
        exit: 143,
        during: |running| {
            running.handles(libc::SIGTERM);
            running.signal(libc::SIGTERM);
        },
        ..SLOW_SWITCH
    },
    Case {
        name: "SIGINT of doctor",
        args: "doctor",
        exit: BY_SIGINT,
        says: &["interrupted; the findings are those until then"],
        during: |running| {
            running.handles(libc::SIGINT);
            running.signal(libc::SIGINT);
        },
        then: |outcome| assert!(!outcome.stdout.is_empty()),
        ..CASE
    },
    Case {
        name: "SIGINT, with a document to print",
        args: "run null syscall/getppid --quick --budget-ms 100000 --store {dir}/store --json",
        says: &["interrupted"],
        prints: &["\"complete\": false"],
        during: |running| after_saving(running, libc::SIGINT),
        then: |outcome| assert_eq!(outcome.printed(), outcome.saved()),
        ..INTERRUPTED
    },
    Case {
        name: "SIGINT before anything is measured",
        args: LONG,
        exit: BY_SIGINT,
        says: &["interrupted"],
        during: |running| {
            running.worker();
            running.signal(libc::SIGINT);
        },
        then: |outcome| assert_eq!(outcome.saved()["complete"], false),
        ..CASE
    },
    Case {
        name: "a second SIGINT, while the worker hangs",
        args: "run null process/futex --quick --budget-ms 100000 --patience-ms 100000 --store {dir}/store",
        exit: BY_SIGINT,
        says: &["ended at once; 'tollgate show 0", "--store {dir}/store' prints what was saved"],
        during: |running| {
            running.saved();
            signal(running.worker(), libc::SIGSTOP);
            running.signal(libc::SIGINT);
            std::thread::sleep(std::time::Duration::from_millis(300));
            running.signal(libc::SIGINT);
        },
        then: |outcome| {
            let run = outcome.saved();
            assert_eq!(run["complete"], false);
            assert!(json::statuses(&run).contains(&"measured".to_owned()));
        },
        ..CASE
    },
    Case {
        name: "a second SIGINT before anything was saved",
        args: "ring --procs 2 --size 0 --store {dir}/store --quick",
        exit: BY_SIGINT,
        says: &["ended at once; nothing was saved yet"],
        during: |running| {
            signal(running.worker(), libc::SIGSTOP);
            running.signal(libc::SIGINT);
            std::thread::sleep(std::time::Duration::from_millis(300));
            running.signal(libc::SIGINT);
        },
        then: |outcome| {
            assert!(!outcome.says("tollgate show"));
            assert!(crate::scene::records(&outcome.path("store")).is_empty());
        },
        ..CASE
    },
    Case {
        name: "SIGSTOP of the worker",
        args: "run null syscall/getppid --quick --budget-ms 3000 --patience-ms 1500 --store {dir}/store",
        exit: ANY,
        during: |running| {
            signal(running.worker(), libc::SIGSTOP);
        },
        then: |outcome| went_on(outcome, "no answer within 1.5 s; its processes were ended"),
        ..CASE
    },
    Case {
        name: "SIGKILL of the worker",
        says: &["failed: the worker process was ended by signal 9 (SIGKILL)", "interrupted"],
        during: |running| {
            running.saved();
            running.kill_workers_until_a_row_is_lost();
            running.signal(libc::SIGINT);
        },
        then: lost_one,
        ..INTERRUPTED
    },
    Case {
        name: "SIGSEGV of the worker",
        args: SHORT,
        exit: ANY,
        during: |running| while !signal(running.worker(), libc::SIGSEGV) {},
        then: |outcome| went_on(outcome, "the worker process was ended by signal 11 (SIGSEGV)"),
        ..CASE
    },
    Case {
        name: "SIGKILL of a probe's process",
        says: &["process/futex failed: ", "signal 9", "interrupted"],
        during: |running| {
            running.saved();
            signal(running.peer(), libc::SIGKILL);
            running.lost_a_row();
            running.signal(libc::SIGINT);
        },
        then: lost_one,
        ..INTERRUPTED
    },
    Case { name: "SIGKILL at once", during: |running| killed_after(running, 0), ..KILLED },
    Case { name: "SIGKILL after 30 ms", during: |running| killed_after(running, 30), ..KILLED },
    Case { name: "SIGKILL after 100 ms", during: |running| killed_after(running, 100), ..KILLED },
    Case { name: "SIGKILL after 400 ms", during: |running| killed_after(running, 400), ..KILLED },
    Case { name: "SIGKILL after 1000 ms", during: |running| killed_after(running, 1_000), ..KILLED },
    Case {
        name: "SIGKILL when something was saved",
        during: |running| {
            running.saved();
            killed_after(running, 50);
        },
        then: |outcome| {
            (KILLED.then)(outcome);
            let run = outcome.saved();
            assert_eq!(run["complete"], false);
            assert!(json::statuses(&run).contains(&"measured".to_owned()));
        },
        ..KILLED
    },
];

/// The store is whole at any moment; [`Outcome::check_manners`] reads it and looks for orphans.
const KILLED: Case =
    Case { args: LONG, exit: ANY, then: |outcome| assert_eq!(outcome.signal, Some(libc::SIGKILL)), ..CASE };

/// One row failed, the others have figures.
fn lost_one(outcome: &Outcome) {
    let mut statuses = json::statuses(&outcome.saved());
    statuses.sort();
    assert_eq!(statuses, ["failed", "measured", "measured"]);
}

fn after_saving(running: &mut crate::scene::Running, number: i32) {
    running.saved();
    running.signal(number);
}

fn killed_after(running: &mut crate::scene::Running, ms: u64) {
    std::thread::sleep(std::time::Duration::from_millis(ms));
    running.signal(libc::SIGKILL);
}

/// The run came to its end, and at most the probe in hand was lost, with the reason. When it was between
/// two probes nothing was.
fn went_on(outcome: &Outcome, reason: &str) {
    let run = outcome.saved();
    assert_eq!(run["complete"], true, "{run:#}");
    let statuses = json::statuses(&run);
    let failed = statuses.iter().filter(|status| *status == "failed").count();
    assert!(failed <= 1 && statuses.contains(&"measured".to_owned()), "{statuses:?}");
    assert_eq!(outcome.exit, Some(i32::from(failed > 0)));
    if failed > 0 {
        assert!(outcome.says(" failed: ") && outcome.says(reason), "it does not say {reason:?}");
    }
}
