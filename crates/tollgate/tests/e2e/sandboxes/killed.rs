//! Commands that are killed in mid-run in a bad place leave no process, no control group and no file.

use super::blocks;
use crate::case::{ANY, CASE, Case, go_through};
use crate::scene::{Outcome, Running, Scene};
use std::fs;

#[test]
fn killed_in_a_place() {
    go_through("e2e::sandboxes::killed::killed_in_a_place", CASES);
}

/// What lasts until it is killed. [`Outcome::check_manners`] looks for processes, and the control group cannot
/// be removed while there are any.
const KILLED: Case = Case { exit: ANY, during: |running| after(running, 700), then: nothing_left, ..CASE };

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "the ladder, killed in a control group of tasks",
        args: "--quick --budget-ms 60000",
        scene: |scene| {
            temporary(scene);
            blocks::group(scene, "pids", &[("pids.max", "pids.max", "64")])
        },
        ..KILLED
    },
    Case {
        name: "a crossing, killed in a control group of memory",
        args: "crossing --quick --budget-ms 60000",
        scene: |scene| {
            temporary(scene);
            blocks::group(scene, "memory", &[("memory.limit_in_bytes", "memory.max", "268435456")])
        },
        ..KILLED
    },
    Case {
        name: "faults, killed with mounts of their own",
        args: "fault kinds --quick --budget-ms 60000",
        scene: |scene| {
            temporary(scene);
            blocks::own_mounts(scene)?;
            blocks::empty(scene, "/sys", "size=4k")
        },
        ..KILLED
    },
    Case {
        name: "a ring, killed in a control group of tasks",
        args: "ring --procs 32 --quick --budget-ms 60000",
        scene: |scene| {
            temporary(scene);
            blocks::group(scene, "pids", &[("pids.max", "pids.max", "64")])
        },
        ..KILLED
    },
    Case {
        name: "the doctor, killed as uid 65534",
        args: "doctor",
        scene: |scene| {
            temporary(scene);
            blocks::nobody(scene)
        },
        during: |running| after(running, 200),
        ..KILLED
    },
    Case {
        name: "a trap, killed with mounts of its own",
        args: "riscv trap --kernel all",
        scene: |scene| {
            temporary(scene);
            blocks::own_mounts(scene)?;
            blocks::empty(scene, "/proc", "size=4k")
        },
        during: |running| after(running, 100),
        ..KILLED
    },
];

fn after(running: &mut Running, ms: u64) {
    std::thread::sleep(std::time::Duration::from_millis(ms));
    // Whether it has ended by itself before depends on the machine.
    running.kill();
}

/// A directory for temporary files that nothing else uses.
fn temporary(scene: &mut Scene) {
    fs::create_dir(scene.path("tmp")).expect("a directory in the scene's");
    let text = scene.path("tmp").to_str().map(str::to_owned);
    scene.env("TMPDIR", text.as_deref());
}

fn nothing_left(outcome: &Outcome) {
    let left: Vec<_> = fs::read_dir(outcome.path("tmp")).expect("it was made").flatten().collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}
