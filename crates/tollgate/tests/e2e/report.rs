//! The page: whole or not at all, and a sentence where it cannot be made.

use crate::case::{CASE, Case, go_through};
use crate::scene::{Outcome, Scene};
use crate::stores::{broken, record, two_runs};
use std::fs;
use tollgate_record::SCHEMA;

#[test]
fn report() {
    go_through("e2e::report::report", CASES);
}

/// Nothing is written where something is wrong.
const NO_PAGE: Case = Case {
    exit: 2,
    scene: two_runs,
    then: |outcome| {
        assert!(outcome.stdout.is_empty());
        assert!(!outcome.path("page.html").exists(), "half a report");
    },
    ..CASE
};

fn page(outcome: &Outcome) -> String {
    fs::read_to_string(outcome.path("page.html")).unwrap()
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "a page of the latest run",
        args: "report latest --store {dir}/store --out {dir}/page.html",
        says: &["{dir}/page.html has 1 run in"],
        scene: two_runs,
        then: |outcome| {
            let page = page(outcome);
            assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
            assert!(page.contains("20260102T000000Z-bbbbbb") && !page.contains("20260101T000000Z-aaaaaa"));
        },
        ..CASE
    },
    Case {
        name: "a page of several runs, by id and by path, in place of an older one",
        args: "report 20260101 {dir}/store/20260102T000000Z-bbbbbb.json --store {dir}/store -o {dir}/page.html",
        says: &["{dir}/page.html has 2 runs in"],
        scene: |scene| {
            scene.file("page.html", "old");
            two_runs(scene)
        },
        then: |outcome| {
            let page = page(outcome);
            assert!(page.contains("20260101T000000Z-aaaaaa") && page.contains("20260102T000000Z-bbbbbb"));
        },
        ..CASE
    },
    Case { name: "a page of no run", args: "report", says: &["<RUN>...", "--help"], ..NO_PAGE },
    Case {
        name: "a page of an id that is not there",
        args: "report latest 20260101T000000Z-aaaaac --store {dir}/store -o {dir}/page.html",
        says: &["no run is called `20260101T000000Z-aaaaac`", "the nearest is '20260101T000000Z-aaaaaa'"],
        ..NO_PAGE
    },
    Case {
        name: "a page of a newer schema",
        args: "report newer --store {dir}/store -o {dir}/page.html",
        says: &["its schema is \"tollgate/3\" and this program reads \"tollgate/2\"; use a newer tollgate"],
        scene: |scene| broken(scene, "newer", record("newer").replace(SCHEMA, "tollgate/3")),
        ..NO_PAGE
    },
    Case {
        name: "a page of a truncated record keeps the older page",
        args: "report cut --store {dir}/store -o {dir}/old.html",
        says: &["it is cut short"],
        scene: |scene: &mut Scene| {
            scene.file("old.html", "old");
            let whole = record("cut");
            broken(scene, "cut", &whole[..whole.len() / 2])
        },
        then: |outcome| assert_eq!(fs::read(outcome.path("old.html")).unwrap(), b"old"),
        ..NO_PAGE
    },
    Case {
        name: "a page into a directory that is not there",
        args: "report latest --store {dir}/store -o {dir}/none/page.html",
        says: &["--out {dir}/none/page.html cannot be written", "mkdir -p {dir}/none"],
        ..NO_PAGE
    },
    Case {
        name: "a page onto a full disk",
        args: "report latest --store {dir}/store -o /dev/full",
        exit: 1,
        says: &["--out /dev/full cannot be written", "No space left on device", "make room there"],
        ..NO_PAGE
    },
    Case {
        name: "a page in place of a directory",
        args: "report latest --store {dir}/store -o {dir}/store",
        says: &["--out {dir}/store is a directory; add a file name: --out {dir}/store/report.html"],
        ..NO_PAGE
    },
    Case {
        name: "a page in place of its record",
        args: "report {dir}/run.json -o {dir}/run.json",
        says: &["--out {dir}/run.json is the record itself, which would be lost"],
        scene: |scene| {
            scene.file("run.json", record("kept"));
            Ok(())
        },
        then: |outcome| assert_eq!(fs::read_to_string(outcome.path("run.json")).unwrap(), record("kept")),
        ..NO_PAGE
    },
];
