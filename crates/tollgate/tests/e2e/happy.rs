//! What goes right: records that hold to the schema and to themselves, and views of them.

use crate::json::result;
use crate::scene::{Outcome, Scene, call, records};
use serde_json::{Value, json};
use tollgate_boundary::{LADDER, PROBES};

fn schema() -> jsonschema::Validator {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/tollgate-2.json");
    let schema = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

/// What holds for every record that the program makes.
fn check(run: &Value) {
    let wrong: Vec<String> =
        schema().iter_errors(run).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    for result in run["results"].as_array().unwrap() {
        let meta = PROBES.iter().map(|probe| probe.meta()).find(|meta| result["probe"] == meta.id).unwrap();
        assert_eq!(result["per"], serde_json::to_value(meta.per).unwrap(), "{}", meta.id);
        assert_eq!(result["engine"], "host", "{}", meta.id);
        let said = |key: &str| result[key].as_str().is_some_and(|text| text.len() > 3);
        match result["status"].as_str().unwrap() {
            "measured" => check_figures(result),
            "skipped" => assert!(said("reason") && said("enable") && result["ns"].is_null(), "{result}"),
            _ => assert!(said("reason") && result["ns"].is_null(), "{result}"),
        }
    }
}

const KEYS: [&str; 5] = ["min", "p10", "p50", "p90", "p99"];

fn check_figures(result: &Value) {
    let number = |unit: &str, key: &str| {
        result[unit][key].as_f64().unwrap_or_else(|| panic!("no {unit}.{key} in {result}"))
    };
    let units: Vec<&str> = ["ns", "ticks", "cycles"]
        .into_iter()
        .filter(|unit| result.get(unit).is_some_and(|v| !v.is_null()))
        .collect();
    assert!(units.contains(&"ns"), "{result}");
    for unit in &units {
        let estimate = number(unit, "estimate");
        // A busy machine leaves a short run one epoch, which has no interval and says so.
        if result[unit]["ci"].is_null() {
            let few = result["warnings"].as_array().unwrap().iter().any(|it| it["code"] == "few-epochs");
            assert!(few, "{unit} of {result}");
        } else {
            let ci = |end: usize| result[unit]["ci"][end].as_f64().unwrap();
            assert!(ci(0) <= estimate && estimate <= ci(1), "{unit} of {result}");
        }
        let quantiles = KEYS.map(|key| number(unit, key));
        assert!(quantiles.is_sorted(), "{unit} of {result}");
        // Every unit is the same figure, so its ratio to nanoseconds is one number.
        let ratio = number(unit, "p90") / number("ns", "p90");
        for key in ["estimate", "min", "p10", "p50", "p90", "p99", "mean"] {
            let (here, there) = (number(unit, key), ratio * number("ns", key));
            assert!((here - there).abs() <= 1e-6 * here.abs().max(1e-3), "{unit}.{key}: {here}, {there}");
        }
        assert!(ratio > 0.0 && ratio < 100.0, "{unit}: {ratio}");
    }
    let count = |key: &str| result[key].as_u64().unwrap_or_else(|| panic!("no {key} in {result}"));
    assert!(count("samples") > 0 && count("crossings") >= count("samples"), "{result}");
}

fn ids(run: &Value) -> Vec<String> {
    run["results"].as_array().unwrap().iter().map(|r| r["probe"].as_str().unwrap().into()).collect()
}

#[test]
fn the_whole_ladder_holds_to_the_schema_and_to_itself() {
    let outcome = Scene::new("--json --quick --seed 7 --store {dir}/store").play(|_| {}).unwrap();
    outcome.check_manners();
    let run = outcome.printed();
    check(&run);
    let all: Vec<&str> = LADDER.iter().map(|probe| probe.meta().id).collect();
    assert_eq!(ids(&run), all, "every probe once, in the order of the list");
    assert_eq!((&run["complete"], &run["seed"]), (&json!(true), &json!(7)));
    assert_eq!(run["command"][0], "--json");
    let failed: Vec<&Value> =
        run["results"].as_array().unwrap().iter().filter(|result| result["status"] == "failed").collect();
    assert_eq!(outcome.exit, Some(i32::from(!failed.is_empty())));
    for result in failed {
        // Two spinning tasks make progress only while both have their CPU: next to other work that may be never.
        let reason = result["reason"].as_str().unwrap();
        assert!(result["probe"] == "core/spin" && reason.contains("no answer within"), "{result}");
        tollgate_testkit::skip_case!("core/spin", "{reason}: run it on a machine that is less busy");
    }
    assert_eq!(outcome.saved(), run, "what is saved is what is printed");
    assert!(!outcome.says("saved as"), "with --json standard error has progress and prose only when needed");
}

#[test]
fn a_run_of_some_is_shown_again_as_it_was() {
    let store = tempfile::tempdir().unwrap();
    let place = store.path().display();
    let run = |args: &str| call(&format!("{args} --store {place}"), 0);

    let first = run("run syscall/getppid null --quick --budget-ms 300 --seed 42 --json").printed();
    check(&first);
    assert_eq!(ids(&first), ["null", "syscall/getppid"], "in the order of the list");
    assert_eq!(first["seed"], 42);
    let saved: Value =
        serde_json::from_str(&std::fs::read_to_string(&records(store.path())[0]).unwrap()).unwrap();
    assert_eq!(saved, first);

    let id = first["id"].as_str().unwrap();
    for name in ["latest", id, &id[..id.len() - 2], records(store.path())[0].to_str().unwrap()] {
        assert_eq!(run(&format!("show {name} --json")).printed(), first, "{name}");
    }
    let table = run("show latest").stdout;
    for part in ["null", "getppid", "2 measured", "seed 42"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let list = run("show").stdout;
    assert!(list.contains(id) && list.contains("2/0/0") && list.contains("1 run"), "{list}");
    let rows = run("show --json").printed();
    assert_eq!(
        (&rows[0]["id"], &rows[0]["measured"], &rows[0]["complete"]),
        (&json!(id), &json!(2), &json!(true))
    );
}

#[test]
fn the_latest_of_six_runs_is_the_last_however_quickly_they_follow() {
    let store = tempfile::tempdir().unwrap();
    let place = store.path().display();
    std::fs::write(store.path().join("bench.txt"), "Simple syscall: 0.1 microseconds\n").unwrap();
    for run in 0..6 {
        call(&format!("import {place}/bench.txt --host host{run} --store {place}/runs"), 0);
    }
    let latest = call(&format!("show latest --json --store {place}/runs"), 0).printed();
    assert_eq!(latest["host"]["name"], "host5");
}

#[test]
fn the_table_of_a_run_says_where_it_was_saved() {
    let outcome = call("run null --quick --budget-ms 200 --store {dir}/store", 0);
    let id = outcome.saved()["id"].as_str().unwrap().to_owned();
    let store = outcome.filled("{dir}/store");
    let command = format!("tollgate show {} --store {store}", &id[..8]);
    assert!(outcome.says(&format!("saved as {id} ({command})")));
    assert_eq!(call(command.strip_prefix("tollgate ").unwrap(), 0).stdout, outcome.stdout);
    assert!(outcome.stdout.contains("null"));
}

#[test]
fn a_result_goes_to_the_file_that_was_named() {
    let outcome = call("run null --quick --budget-ms 200 --no-save --json --out {dir}/run.json", 0);
    assert!(outcome.stdout.is_empty());
    let run = serde_json::from_str(&std::fs::read_to_string(outcome.path("run.json")).unwrap()).unwrap();
    check(&run);
    assert!(records(&outcome.path("home")).is_empty(), "--no-save saves nothing");
    let text = call("run null --quick --budget-ms 200 --no-save --out list.txt", 0);
    assert!(std::fs::read_to_string(text.path("list.txt")).unwrap().contains("null"));
}

#[test]
fn patterns_choose_and_seeds_are_kept_or_made() {
    let run = |args: &str| call(&format!("run {args} --quick --budget-ms 200 --no-save --json"), 0).printed();
    let pipes = run("*/pipe --seed 18446744073709551615");
    assert_eq!(ids(&pipes), ["thread/pipe", "process/pipe", "core/pipe"]);
    assert_eq!(pipes["seed"], u64::MAX);
    assert_eq!(ids(&run("null null call/d*")), ["null", "call/direct", "call/dynamic"]);
    assert_ne!(run("null")["seed"], run("null")["seed"]);
}

#[test]
fn either_clock_measures_the_same_crossing() {
    let os = call("run syscall/getppid --quick --budget-ms 300 --no-save --json --clock os", 0).printed();
    check(&os);
    let result = result(&os, "syscall/getppid");
    assert!(result["ticks"].is_null(), "the system's clock has no ticks: {result}");
    assert_eq!(os["host"]["clock"]["source"], "os");
}

#[test]
fn the_list_names_every_probe_and_says_why_not() {
    let rows = call("list --json", 0).printed();
    let rows = rows.as_array().unwrap();
    let borders = tollgate_runtime::choice::borders(&tollgate_runtime::Sources::Embedded).unwrap();
    let borders: Vec<String> = borders.iter().map(|(runtime, mechanism, _)| runtime.row(mechanism)).collect();
    let others = ["hardware/pair", "hardware/irqfd-wake", "switch/go/channel", "ring/futex", "fault/hugetlb"];
    let ids =
        PROBES.iter().map(|probe| probe.meta().id).chain(borders.iter().map(String::as_str)).chain(others);
    let text = call("list", 0).stdout;
    for id in ids {
        assert_eq!(rows.iter().filter(|row| row["id"] == id).count(), 1, "{id}");
        assert!(text.contains(id), "{id}");
    }
    for row in rows {
        assert!(row["what"].as_str().unwrap().len() > 10, "{row}");
        assert!(row["command"].as_str().unwrap().starts_with("tollgate "), "{row}");
        assert_eq!(row["reason"].is_null(), row["enable"].is_null(), "{row}");
    }
    // Each reason once, with everything that it concerns.
    let why = crate::case::squeezed(&call("list --why", 0).stdout);
    for row in rows.iter().filter(|row| !row["reason"].is_null()) {
        let [reason, enable, id] =
            ["reason", "enable", "id"].map(|key| crate::case::squeezed(row[key].as_str().unwrap()));
        assert_eq!(why.matches(&format!("{reason} enable: {enable}")).count(), 1, "{reason}\n{why}");
        assert!(why.contains(&id), "{id}");
    }
}

#[test]
fn the_list_has_what_a_pattern_names() {
    let rows = call("list thread */pipe hardware/p* --json", 0).printed();
    let ids: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    for id in ["thread/futex", "process/pipe", "ring/pipe", "hardware/pair"] {
        assert!(ids.contains(&id), "{id}: {ids:?}");
    }
    let named =
        |id: &&str| id.starts_with("thread/") || id.ends_with("/pipe") || id.starts_with("hardware/p");
    assert!(ids.iter().all(named), "{ids:?}");
}

#[test]
fn the_doctor_says_what_each_finding_does_and_what_mends_what_spoils() {
    let found = call("doctor --json", 0).printed();
    let findings = found["findings"].as_array().unwrap();
    assert!(findings.len() > 10);
    for finding in findings {
        for key in ["code", "what", "effect"] {
            assert!(finding[key].as_str().is_some_and(|text| text.len() > 2), "{key} of {finding}");
        }
        if finding["severity"] == "spoils" {
            assert!(finding["fix"].as_str().is_some_and(|fix| fix.len() > 5), "{finding}");
        }
    }
    let codes: std::collections::BTreeSet<_> =
        findings.iter().map(|finding| finding["code"].as_str()).collect();
    assert_eq!(codes.len(), findings.len(), "each code once");
    assert!(found["host"]["cpu"]["allowed"].is_array());
    let text = call("doctor", 0);
    assert!(text.stdout.contains("effect: "));
    unchanged(&text);
}

/// The doctor changes nothing: not even a directory at home.
fn unchanged(outcome: &Outcome) {
    assert_eq!(std::fs::read_dir(outcome.path("home")).unwrap().count(), 0);
}
