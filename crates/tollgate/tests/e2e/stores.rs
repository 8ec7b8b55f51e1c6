//! Stores with all kinds of files in them, and ids that name nothing.

use crate::case::{CASE, Case, go_through};
use crate::scene::Scene;
use std::ffi::CString;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use tollgate_record::{Host, Run, SCHEMA, Tool, document};

#[test]
fn stores() {
    go_through("e2e::stores::stores", CASES);
}

const NO_RUN: Case = Case { exit: 2, then: |outcome| assert!(outcome.stdout.is_empty()), ..CASE };

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "runs of a day",
        args: "show --since 2026-01-01 --until 2026-01-01 --command quick --json --store {dir}/store",
        scene: two_runs,
        then: |outcome| assert_eq!(listed(outcome), 2),
        ..CASE
    },
    Case {
        name: "runs of no such day",
        args: "show --since 2026-01-02 --json --store {dir}/store",
        scene: two_runs,
        then: |outcome| assert_eq!(listed(outcome), 0),
        ..CASE
    },
    Case {
        name: "runs of no such command",
        args: "show --command ring --json --store {dir}/store",
        scene: two_runs,
        then: |outcome| assert_eq!(listed(outcome), 0),
        ..CASE
    },
    Case {
        name: "runs of no such host",
        args: "show --host elsewhere --json --store {dir}/store",
        scene: two_runs,
        then: |outcome| assert_eq!(listed(outcome), 0),
        ..CASE
    },
    Case {
        name: "a run that is labeled",
        args: "show latest --label before --store {dir}/store",
        says: &["20260102T000000Z-bbbbbb is labeled 'before'"],
        scene: two_runs,
        then: |outcome| {
            let text = fs::read_to_string(outcome.path("store/20260102T000000Z-bbbbbb.json")).unwrap();
            assert_eq!(document::from_json(text.as_bytes()).unwrap().label.as_deref(), Some("before"));
        },
        ..CASE
    },
    Case {
        name: "runs of no such label",
        args: "show --label before --json --store {dir}/store",
        scene: two_runs,
        then: |outcome| assert_eq!(listed(outcome), 0),
        ..CASE
    },
    Case {
        name: "a label that could be a path",
        args: "show latest --label a/b --store {dir}/store",
        says: &["a label contains no '/'"],
        scene: two_runs,
        ..NO_RUN
    },
    Case {
        name: "a run that is deleted",
        args: "show --delete 20260101T000000Z-aaaaaa --store {dir}/store",
        says: &["deleted 20260101T000000Z-aaaaaa (tollgate "],
        scene: two_runs,
        then: |outcome| {
            let left = crate::scene::records(&outcome.path("store"));
            assert_eq!(left, [outcome.path("store/20260102T000000Z-bbbbbb.json")]);
        },
        ..CASE
    },
    Case {
        name: "a run to delete that could be any of two",
        args: "show --delete 2026 --store {dir}/store",
        says: &["`2026` could be any of 2 runs"],
        scene: two_runs,
        then: |outcome| assert_eq!(crate::scene::records(&outcome.path("store")).len(), 2),
        ..NO_RUN
    },
    Case {
        name: "two runs to delete, of which one is unknown",
        args: "show --delete 20260101 2027 --store {dir}/store",
        says: &["no run is called `2027`"],
        scene: two_runs,
        then: |outcome| assert_eq!(crate::scene::records(&outcome.path("store")).len(), 2),
        ..NO_RUN
    },
    Case {
        name: "an empty file",
        args: "show empty --store {dir}/store",
        says: &["cannot use {dir}/store/empty.json: it is empty"],
        scene: |scene| broken(scene, "empty", ""),
        ..NO_RUN
    },
    Case {
        name: "a truncated file",
        args: "show cut --store {dir}/store",
        says: &["cannot use {dir}/store/cut.json: it is cut short", "measure again"],
        scene: |scene| {
            let whole = record("cut");
            broken(scene, "cut", &whole[..whole.len() / 2])
        },
        ..NO_RUN
    },
    Case {
        name: "a damaged file",
        args: "show bad --store {dir}/store",
        says: &["cannot use {dir}/store/bad.json: it is not JSON, or it is damaged", "at byte"],
        scene: |scene| broken(scene, "bad", record("bad").replace(':', "\u{1}")),
        ..NO_RUN
    },
    Case {
        name: "a damaged field",
        args: "show bad --store {dir}/store",
        says: &["it says \"tollgate/2\" but does not hold to it", "at byte"],
        scene: |scene| broken(scene, "bad", record("bad").replace("\"seed\": 42", "\"seed\": \"x\"")),
        ..NO_RUN
    },
    Case {
        name: "JSON of something else",
        args: "show other --store {dir}/store",
        says: &["it is JSON, but not a tollgate record"],
        scene: |scene| broken(scene, "other", "{\"schema\": \"cargo/3\"}"),
        ..NO_RUN
    },
    Case {
        name: "JSON that is not an object",
        args: "show list --store {dir}/store",
        says: &["it is JSON, but not a tollgate record"],
        scene: |scene| broken(scene, "list", "[1, 2, 3]"),
        ..NO_RUN
    },
    Case {
        name: "a newer schema",
        args: "show newer --store {dir}/store",
        says: &["its schema is \"tollgate/3\" and this program reads \"tollgate/2\"; use a newer tollgate"],
        scene: |scene| broken(scene, "newer", record("newer").replace(SCHEMA, "tollgate/3")),
        ..NO_RUN
    },
    Case {
        name: "a schema that was never there",
        args: "show odd --store {dir}/store",
        says: &["its schema is \"tollgate/banana\""],
        scene: |scene| broken(scene, "odd", record("odd").replace(SCHEMA, "tollgate/banana")),
        ..NO_RUN
    },
    Case {
        name: "nesting without end",
        args: "show deep --store {dir}/store",
        says: &["cannot use {dir}/store/deep.json"],
        scene: |scene| broken(scene, "deep", "[".repeat(1 << 20)),
        ..NO_RUN
    },
    Case {
        name: "a huge file",
        args: "show huge --store {dir}/store",
        says: &["{dir}/store/huge.json is larger than 256 MiB, which no run is"],
        scene: |scene| {
            broken(scene, "huge", "")?;
            // A hole: it takes no room.
            let file = File::create(scene.path("store/huge.json")).map_err(|error| error.to_string())?;
            file.set_len(1 << 40).map_err(|error| error.to_string())
        },
        ..NO_RUN
    },
    Case {
        name: "not UTF-8",
        args: "show bytes --store {dir}/store",
        says: &["cannot use {dir}/store/bytes.json"],
        scene: |scene| broken(scene, "bytes", [b'{', b'"', 0xff, 0xfe, b'"', b':', b'1', b'}']),
        ..NO_RUN
    },
    Case {
        name: "a path that is not a record",
        args: "show {dir}/notes.txt",
        says: &["cannot use {dir}/notes.txt: it is not JSON"],
        scene: |scene| {
            scene.file("notes.txt", "buy milk");
            Ok(())
        },
        ..NO_RUN
    },
    Case {
        name: "a path that is a directory",
        args: "show {dir}/home",
        says: &["cannot read {dir}/home", "give the path of one file in it"],
        ..NO_RUN
    },
    Case {
        name: "a path that is not there",
        args: "show ./run.json",
        says: &["cannot read ./run.json", "tollgate show"],
        ..NO_RUN
    },
    Case {
        name: "an id that is not there",
        args: "show 20260101T000000Z-aaaaac --store {dir}/store",
        says: &[
            "no run is called `20260101T000000Z-aaaaac` in {dir}/store",
            "the nearest is '20260101T000000Z-aaaaaa'",
            "tollgate show",
        ],
        scene: two_runs,
        ..NO_RUN
    },
    Case {
        name: "a slip in 'latest'",
        args: "show lates --store {dir}/store",
        says: &["no run is called `lates`", "the nearest is 'latest'"],
        scene: two_runs,
        ..NO_RUN
    },
    Case {
        name: "runs of the last days",
        args: "show --since 7d --json --store {dir}/store",
        scene: two_runs,
        then: |outcome| assert_eq!(listed(outcome), 0),
        ..CASE
    },
    Case {
        name: "runs of the last decades",
        args: "show --since 20000d --json --store {dir}/store",
        scene: two_runs,
        then: |outcome| assert_eq!(listed(outcome), 2),
        ..CASE
    },
    Case {
        name: "an id unlike all others",
        args: "show banana --store {dir}/store",
        says: &["no run is called `banana`", "`tollgate show` lists them"],
        scene: two_runs,
        then: |outcome| assert!(!outcome.says("the nearest is")),
        ..NO_RUN
    },
    Case {
        name: "an ambiguous beginning",
        args: "show 2026 --store {dir}/store",
        says: &["`2026` could be any of 2 runs: 20260101T000000Z-aaaaaa, 20260102T000000Z-bbbbbb"],
        scene: two_runs,
        ..NO_RUN
    },
    Case {
        name: "the latest of none",
        args: "show latest --store {dir}/store",
        says: &["there is no run in {dir}/store yet", "--store DIR looks elsewhere"],
        ..NO_RUN
    },
    Case { name: "an empty id", args: "show ''", says: &["no run is called ``"], ..NO_RUN },
    Case {
        name: "an id that would leave the store",
        args: "show ../../nowhere/passwd --store {dir}/store",
        says: &["../../nowhere/passwd", "cannot read"],
        ..NO_RUN
    },
    Case {
        name: "a list with broken files in it",
        args: "show --store {dir}/store",
        prints: &[
            "20260101T000000Z-aaaaaa",
            "20260102T000000Z-bbbbbb",
            "empty",
            "it is empty",
            "newer",
            "use a newer tollgate",
        ],
        scene: everything,
        ..CASE
    },
    Case {
        name: "a list with broken files in it, as JSON",
        args: "show --json --store {dir}/store",
        scene: everything,
        then: |outcome| {
            let rows = outcome.printed();
            let rows = rows.as_array().unwrap();
            assert_eq!(rows.len(), 4);
            assert_eq!(rows.iter().filter(|row| row["error"].is_string()).count(), 2);
        },
        ..CASE
    },
    Case {
        name: "a list of a store that is not there",
        args: "show --store {dir}/none",
        prints: &["No run is saved yet"],
        then: |outcome| assert!(!outcome.path("none").exists(), "looking makes nothing"),
        ..CASE
    },
    Case {
        name: "a run into a store full of rubbish",
        args: "run null --quick --budget-ms 200 --store {dir}/store",
        says: &["saved as "],
        scene: everything,
        then: |outcome| assert_eq!(fs::read(outcome.path("store/empty.json")).unwrap(), b""),
        ..CASE
    },
    Case {
        name: "an unreadable store",
        args: "show --store {dir}/locked",
        exit: 1,
        says: &["cannot read {dir}/locked: Permission denied"],
        scene: |scene| {
            use std::os::unix::fs::PermissionsExt;
            scene.as_nobody()?;
            fs::create_dir(scene.path("locked")).map_err(|error| error.to_string())?;
            let mode = fs::Permissions::from_mode(0o700);
            fs::set_permissions(scene.path("locked"), mode).map_err(|error| error.to_string())
        },
        ..CASE
    },
];

pub(crate) fn broken(scene: &mut Scene, id: &str, content: impl AsRef<[u8]>) -> Result<(), String> {
    scene.file(&format!("store/{id}.json"), content);
    Ok(())
}

pub(crate) fn two_runs(scene: &mut Scene) -> Result<(), String> {
    for id in ["20260101T000000Z-aaaaaa", "20260102T000000Z-bbbbbb"] {
        scene.file(&format!("store/{id}.json"), record(id));
    }
    Ok(())
}

pub(crate) fn listed(outcome: &crate::scene::Outcome) -> usize {
    outcome.printed().as_array().unwrap().len()
}

/// Two runs, two broken files, and a path that is not a file.
fn everything(scene: &mut Scene) -> Result<(), String> {
    two_runs(scene)?;
    broken(scene, "empty", "")?;
    broken(scene, "newer", record("newer").replace(SCHEMA, "tollgate/3"))?;
    fs::create_dir(scene.path("store/directory.json")).map_err(|error| error.to_string())?;
    let pipe = CString::new(scene.path("store/pipe.json").as_os_str().as_bytes()).unwrap();
    // SAFETY: the path ends in a zero byte.
    crate::places::done(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }).map_err(|error| error.to_string())
}

/// A small record that holds to the schema.
pub(crate) fn record(id: &str) -> String {
    let run = Run {
        complete: true,
        ..Run::begin(
            id.into(),
            "2026-01-01T00:00:00Z".into(),
            Tool { version: "0.1.0".into(), commit: "unknown".into() },
            vec!["--quick".into()],
            Host::default(),
            42,
        )
    };
    document::to_json(&run).unwrap()
}
