//! What the store does with its files, and what it says about files that are not runs.

mod common;

use proptest::prelude::*;
use std::fs;
use std::path::Path;
use tollgate_record::document::{DocumentError, from_json, to_json};
use tollgate_record::store::Filter;
use tollgate_record::{Evidence, Phase, Run, SCHEMA, Status, Store, StoreError, warning};

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("new/runs")).unwrap();
    (dir, store)
}

fn with_id(id: &str) -> Run {
    Run { id: id.into(), ..common::sample() }
}

fn says(error: &StoreError, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "{text:?} does not say {part:?}");
    }
}

#[test]
fn a_run_is_found_by_id_prefix_path_and_latest() {
    let (_dir, store) = store();
    store.check_writable().unwrap();
    let path = store.save(&with_id("20260101T000000Z-aaaa")).unwrap();
    store.save(&with_id("20260102T000000Z-bbbb")).unwrap();
    let id = |wanted: &str| store.load(wanted).unwrap().id;
    assert_eq!(id("20260101T000000Z-aaaa"), "20260101T000000Z-aaaa");
    assert_eq!(id("20260101T000000Z-aaaa.json"), "20260101T000000Z-aaaa");
    assert_eq!(id("20260101"), "20260101T000000Z-aaaa");
    assert_eq!(id("latest"), "20260102T000000Z-bbbb");
    assert_eq!(id(path.to_str().unwrap()), "20260101T000000Z-aaaa");
    // Nothing but the two runs is left behind.
    assert_eq!(fs::read_dir(store.dir()).unwrap().count(), 2);
}

#[test]
fn old_and_new_ids_and_files_of_other_names_are_in_the_order_of_time() {
    let (_dir, store) = store();
    let save = |id: &str, started: &str| {
        let run = Run { id: id.into(), started: started.into(), ..common::sample() };
        store.save(&run).unwrap();
    };
    // The times in the ids: 15:28:00 and 15:28:01 on 2026-11-20.
    save("01M7WS4PZ80000000000000000", "2026-11-20T15:28:01Z");
    save("20261120T152800Z-7f3a1c", "2026-11-20T15:28:00Z");
    save("baseline", "2026-11-20T15:28:02Z");
    save("20251120T152800Z-ffffff", "2025-11-20T15:28:00Z");
    fs::write(store.dir().join("zzz.json"), "not a run").unwrap();
    let ids: Vec<String> = store.list().unwrap().into_iter().map(|entry| entry.id).collect();
    let expected = [
        "zzz",
        "20251120T152800Z-ffffff",
        "20261120T152800Z-7f3a1c",
        "01M7WS4PZ80000000000000000",
        "baseline",
    ];
    assert_eq!(ids, expected);
    assert_eq!(store.load("latest").unwrap().id, "baseline");
}

#[test]
fn the_last_of_six_runs_of_one_moment_is_the_latest() {
    let (_dir, store) = store();
    let now = std::time::SystemTime::now();
    let ids: Vec<String> = (0..6).map(|_| tollgate_record::store::new_id(now)).collect();
    // Saved in another order than they began.
    for id in ids.iter().rev() {
        store.save(&with_id(id)).unwrap();
    }
    assert_eq!(store.load("latest").unwrap().id, ids[5]);
}

#[test]
fn eight_characters_of_an_id_select_a_run_in_either_case() {
    let (_dir, store) = store();
    for id in ["01M7WS4P00AAAAAAAAAAAAAAAA", "01M7WS4P00AABBBBBBBBBBBBBB", "01M7WSPZY0AAAAAAAAAAAAAAAA"] {
        store.save(&with_id(id)).unwrap();
    }
    assert_eq!(store.shortest_prefix("01M7WSPZY0AAAAAAAAAAAAAAAA"), "01M7WSPZ");
    assert_eq!(store.shortest_prefix("01M7WS4P00AAAAAAAAAAAAAAAA"), "01M7WS4P00AAA");
    for prefix in ["01M7WSPZ", "01m7wspz", "01M7WSPZY0AAAAAAAAAAAAAAAA"] {
        assert_eq!(store.load(prefix).unwrap().id, "01M7WSPZY0AAAAAAAAAAAAAAAA", "{prefix}");
    }
    says(&store.load("01M7WS4P").unwrap_err(), &["could be any of 2 runs"]);
}

#[test]
fn saving_again_replaces_the_earlier_state() {
    let (_dir, store) = store();
    let mut run = common::sample();
    run.complete = false;
    store.save(&run).unwrap();
    run.complete = true;
    store.save(&run).unwrap();
    assert!(store.load("latest").unwrap().complete);
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn an_id_that_is_a_prefix_of_another_is_still_found() {
    let (_dir, store) = store();
    store.save(&with_id("run")).unwrap();
    store.save(&with_id("run-2")).unwrap();
    assert_eq!(store.load("run").unwrap().id, "run");
}

#[test]
fn a_run_is_found_by_its_label_and_by_nothing_else_that_it_was_called() {
    let (_dir, store) = store();
    let ids = ["20260101T000000Z-aaaa", "20260102T000000Z-bbbb"];
    for id in ids {
        store.save(&with_id(id)).unwrap();
    }
    assert_eq!(store.label("20260101", "before").unwrap().label.as_deref(), Some("before"));
    assert_eq!(store.label("latest", " the change ").unwrap().label.as_deref(), Some("the change"));
    assert_eq!(store.load("before").unwrap().id, ids[0]);
    assert_eq!(
        store.load("the change").unwrap(),
        Run { label: Some("the change".into()), ..with_id(ids[1]) }
    );
    // The error names the nearest label.
    says(&store.load("befor").unwrap_err(), &["befor", "'before'"]);
    says(&store.load("lates").unwrap_err(), &["'latest'"]);
    let wanted = |label: &str| {
        let filter = Filter { label: Some(label.into()), ..Filter::default() };
        store.list().unwrap().iter().filter(|entry| filter.wants(entry)).count()
    };
    assert_eq!(["before", "e", "other"].map(wanted), [1, 2, 0]);
    store.label(ids[1], "before").unwrap();
    says(&store.load("before").unwrap_err(), &[ids[0], ids[1]]);
    assert_eq!(store.label(ids[1], "").unwrap().label, None);
    says(&store.load("the change").unwrap_err(), &["no run is called"]);
    // A file elsewhere keeps its place.
    let elsewhere = store.dir().join("../elsewhere.json");
    fs::copy(store.dir().join(ids[0]).with_extension("json"), &elsewhere).unwrap();
    store.label(elsewhere.to_str().unwrap(), "there").unwrap();
    assert_eq!(store.load(elsewhere.to_str().unwrap()).unwrap().label.as_deref(), Some("there"));
    assert_eq!(store.list().unwrap().len(), 2);
}

#[test]
fn what_is_not_found_is_said() {
    let (_dir, store) = store();
    says(&store.load("latest").unwrap_err(), &["no run in", "`tollgate` measures one", "--store DIR"]);
    store.save(&with_id("20260101T000000Z-aaaa")).unwrap();
    store.save(&with_id("20260101T000000Z-aabb")).unwrap();
    let ambiguous = &["`2026` could be any of 2 runs", "20260101T000000Z-aaaa, 20260101T000000Z-aabb"];
    says(&store.load("2026").unwrap_err(), ambiguous);
    says(&store.load("20260101T000000Z-aaab").unwrap_err(), &["the nearest is", "tollgate show"]);
    says(&store.load("lates").unwrap_err(), &["no run is called `lates`", "the nearest is 'latest'"]);
    says(&store.load("banana").unwrap_err(), &["no run is called `banana`", "tollgate show"]);
    assert!(!store.load("banana").unwrap_err().to_string().contains("the nearest is"));
    says(&store.load("").unwrap_err(), &["no run is called ``"]);
    says(&store.load("missing.json").unwrap_err(), &["there is no file 'missing.json'", "tollgate show"]);
    says(&store.load("./missing.json").unwrap_err(), &["cannot read ./missing.json", "tollgate show"]);
    says(&store.load("/").unwrap_err(), &["cannot read /", "one file in it"]);
    says(&store.load("\u{1b}[2J").unwrap_err(), &["`?[2J`"]);
}

#[test]
fn a_place_that_cannot_be_written_is_said_before_and_at_saving() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    says(&Store::open(file.clone()).unwrap_err(), &["is not a directory", "--store DIR"]);
    let below = Store::open(file.join("below")).unwrap();
    for error in [below.check_writable().unwrap_err(), below.save(&common::sample()).unwrap_err()] {
        says(&error, &["cannot write to the store", "--store DIR", "--no-save"]);
        assert!(!error.to_string().contains(".tollgate-"), "{error}");
    }
    assert!(
        std::error::Error::source(&below.check_writable().unwrap_err()).is_none(),
        "the cause is printed once"
    );
    // A directory that cannot be written even by root.
    let error = Store::open("/proc/tollgate".into()).unwrap().check_writable().unwrap_err();
    says(&error, &["cannot write to the store /proc/tollgate"]);
    let (_dir, store) = store();
    says(&store.save(&with_id("../escape")).unwrap_err(), &["cannot be the id of a run"]);
}

#[test]
fn files_that_are_no_runs_are_listed_with_the_reason() {
    let (_dir, store) = store();
    store.save(&common::sample()).unwrap();
    let good = to_json(&common::sample()).unwrap();
    let write = |name: &str, text: &[u8]| fs::write(store.dir().join(name), text).unwrap();
    let cases: &[(&str, Vec<u8>, &str)] = &[
        ("empty.json", Vec::new(), "it is empty"),
        ("cut.json", good.as_bytes()[..1000].to_vec(), "it ends in the middle, at byte 1000"),
        ("text.json", b"hello\n".to_vec(), "it is not JSON, or it is damaged: expected value at byte 1"),
        ("list.json", b"[1, 2]".to_vec(), "it is JSON, but not a tollgate record"),
        ("other.json", b"{\"schema\": 3}".to_vec(), "it is JSON, but not a tollgate record"),
        (
            "newer.json",
            good.replace(SCHEMA, "tollgate/3").into_bytes(),
            "its schema is \"tollgate/3\" and this program reads \"tollgate/2\"; use a newer tollgate",
        ),
        (
            "older.json",
            good.replace(SCHEMA, "tollgate/1").into_bytes(),
            "its schema is \"tollgate/1\" and this program reads \"tollgate/2\"; measure again",
        ),
        ("key.json", good.replace("\"status\"", "\"sttus\"").into_bytes(), "unknown field `sttus`"),
        ("field.json", good.replace("\"seed\"", "\"sead\"").into_bytes(), "unknown field `sead`"),
        (
            "status.json",
            good.replace("\"failed\"", "\"\\u001b[31m\"").into_bytes(),
            "unknown variant `?[31m`",
        ),
        ("huge.json", good.replace("528.0", "1e999").into_bytes(), "number out of range"),
        ("deep.json", [b"{\"schema\":".to_vec(), b"[".repeat(100_000)].concat(), "recursion limit exceeded"),
    ];
    for (name, text, _) in cases {
        write(name, text);
    }
    write("notes.txt", b"not a run, and not called one");
    fs::create_dir(store.dir().join("folder.json")).unwrap();
    let list = store.list().unwrap();
    assert_eq!(list.len(), cases.len() + 1);
    for (name, _, reason) in cases {
        let id = name.trim_end_matches(".json");
        let entry = list.iter().find(|entry| entry.id == id).unwrap();
        let said = entry.content.as_ref().unwrap_err();
        assert!(said.contains(reason), "{name}: {said:?}");
        assert!(!said.contains('\u{1b}'));
        says(&store.load(id).unwrap_err(), &["cannot use ", name, reason]);
    }
    let read = list.iter().find_map(|entry| entry.content.as_ref().ok()).unwrap();
    assert_eq!((read.measured, read.skipped, read.failed, read.complete), (1, 1, 1, true));
}

#[test]
fn keys_of_earlier_records_are_read_as_they_are_spelled_now() {
    let mut run = common::sample();
    let result = &mut run.results[0];
    let guest = "function/sys_getpid_per_cpu/cycles";
    result.counters = ["bytes_read", "bytes-saved", guest, "unknown_one"].map(|key| (key.into(), 1.0)).into();
    result.proof = [("right_answers_per_call".into(), 1.0)].into();
    result.instrumented_ns = [("page_faults_event".into(), 1.0)].into();
    result.per_counted = Some("switches_per_crossing".into());
    result.phases = vec![
        Phase::new("kernel work", Evidence::Difference),
        Phase::new("of another version", Evidence::Difference),
    ];
    let result = &from_json(to_json(&run).unwrap().as_bytes()).unwrap().results[0];
    let phases: Vec<&str> = result.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(phases, ["kernel-work", "of another version"]);
    let keys = result.counters.keys().chain(result.proof.keys()).chain(result.instrumented_ns.keys());
    let keys: Vec<&str> = keys.chain(&result.per_counted).map(String::as_str).collect();
    let maps =
        ["bytes-read", "bytes-saved", guest, "unknown_one", "right-answers-per-call", "page-faults-event"];
    assert_eq!(keys, [maps.as_slice(), &["switches-per-crossing"]].concat());
}

#[test]
fn a_directory_that_does_not_exist_holds_nothing() {
    let store = Store::open("/does/not/exist".into()).unwrap();
    assert!(store.list().unwrap().is_empty());
    assert!(!Path::new("/does").exists());
}

#[test]
fn figures_that_are_no_numbers_are_left_out_with_a_warning() {
    let (_dir, store) = store();
    let mut run = common::sample();
    let futex = &mut run.results[0];
    futex.cycles = Some(common::estimate(f64::NAN));
    futex.proof.insert("switches-per-crossing".into(), f64::INFINITY);
    run.host.clock.pair_ticks = f64::NAN;
    store.save(&run).unwrap();
    let back = store.load("latest").unwrap();
    let futex = &back.results[0];
    assert_eq!((futex.status, futex.cycles, futex.proof.len()), (Status::Measured, None, 0));
    assert_eq!(futex.warnings[0].code, warning::NOT_FINITE);
    assert_eq!(
        futex.warnings[0].text,
        "cycles, proof switches-per-crossing are not finite numbers and were left out"
    );
    assert_eq!(back.warnings[1].text, "clock.pair_ticks is not a finite number and was left out");
    // The last figure gone, the probe has failed.
    run.results[0].ns = Some(common::estimate(f64::NEG_INFINITY));
    run.results[0].ticks = None;
    store.save(&run).unwrap();
    let futex = &store.load("latest").unwrap().results[0];
    assert_eq!(futex.status, Status::Failed);
    assert!(futex.reason.as_ref().unwrap().contains("not a finite number"));
}

#[test]
fn a_file_cut_anywhere_says_where_it_ends() {
    let text = to_json(&common::sample()).unwrap();
    assert_eq!(from_json(b""), Err(DocumentError::Empty));
    for cut in 1..text.trim_end().len() {
        assert_eq!(from_json(&text.as_bytes()[..cut]), Err(DocumentError::Truncated(cut)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn what_is_saved_comes_back(run in common::arbitrary_run(common::finite())) {
        let (_dir, store) = store();
        store.save(&run).unwrap();
        prop_assert_eq!(store.load(&run.id).unwrap(), run);
    }

    #[test]
    fn no_figure_makes_a_file_that_cannot_be_read(run in common::arbitrary_run(proptest::num::f64::ANY.boxed())) {
        let text = to_json(&run).unwrap();
        let back = from_json(text.as_bytes()).unwrap();
        prop_assert_eq!(back, run.without_non_finite().into_owned());
    }

    #[test]
    fn a_damaged_file_is_read_or_refused_in_a_sentence(
        flips in proptest::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..6),
    ) {
        let (_dir, store) = store();
        let mut text = to_json(&common::sample()).unwrap().into_bytes();
        for (at, bit) in flips {
            let at = at.index(text.len());
            text[at] ^= 1 << bit;
        }
        fs::create_dir_all(store.dir()).unwrap();
        fs::write(store.dir().join("damaged.json"), &text).unwrap();
        if let Err(error) = store.load("damaged") {
            let said = error.to_string();
            prop_assert!(said.starts_with("cannot use ") && !said.chars().any(char::is_control), "{}", said);
        }
        prop_assert_eq!(store.list().unwrap().len(), 1);
    }

    #[test]
    fn any_bytes_are_refused_in_a_sentence(text: Vec<u8>) {
        let said = from_json(&text).unwrap_err().to_string();
        prop_assert!(said.starts_with("it ") && !said.chars().any(char::is_control), "{}", said);
    }
}

#[test]
fn a_changed_or_missing_key_of_a_record_is_noticed() {
    let run = common::sample();
    let text = tollgate_record::document::to_json(&run).unwrap();
    let read = |text: &str| tollgate_record::document::from_json(text.as_bytes());
    assert_eq!(read(&text).unwrap(), run);
    // A checksum is of the content, not of the layout; without one a record is read as it is.
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read(&value.to_string()).unwrap(), run);
    value.as_object_mut().unwrap().remove("checksum");
    assert_eq!(read(&value.to_string()).unwrap(), run);
    let lines: Vec<&str> = text.lines().collect();
    let keys = |line: &&str| line.trim_start().starts_with('"') && line.contains("\":");
    let mut tried = 0;
    for (n, line) in lines.iter().enumerate().filter(|(_, line)| keys(line)) {
        let quote = line.find('"').unwrap() + 2;
        let letter = if &line[quote..=quote] == "x" { "y" } else { "x" };
        let spoilt = format!("{}{letter}{}", &line[..quote], &line[quote + 1..]);
        let all: Vec<&str> =
            lines.iter().enumerate().map(|(k, it)| if k == n { spoilt.as_str() } else { it }).collect();
        let outcome = read(&all.join("\n"));
        assert!(outcome.is_err(), "{spoilt}: {:?}", outcome.map(|run| run.results.len()));
        tried += 1;
    }
    assert!(tried > 150, "{tried} keys");
}
