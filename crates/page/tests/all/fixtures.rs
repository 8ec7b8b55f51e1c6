//! Recorded answers, from which the page can be drawn without the module: `web/fixtures`.

use serde_json::{Value, json};
use tollgate_testkit::Recorded;

use crate::{answer, kernel};

/// The requests after one of the bundled kernels was loaded, and the files of their answers.
fn requests() -> Vec<(&'static str, Value)> {
    let subjects = json!([{ "kernel": "caller", "core": { "name": "rocket" } }]);
    vec![
        (
            "ran",
            json!({ "op": "run", "breakpoints": [{ "kind": "trap", "cause": "environment call from U-mode" }] }),
        ),
        ("pipeline", json!({ "op": "pipeline", "count": 16 })),
        ("caches", json!({ "op": "caches" })),
        ("walk", json!({ "op": "walk", "address": "pc", "access": "fetch" })),
        ("memory", json!({ "op": "memory", "address": "sp", "length": 64 })),
        ("disassemble", json!({ "op": "disassemble", "count": 8 })),
        ("traps", json!({ "op": "traps" })),
        ("trap-walk", json!({ "op": "trapWalk", "index": 0 })),
        (
            "sheet",
            json!({ "op": "sheet", "sheet": { "view": "trap", "subjects": subjects, "iterations": 10 } }),
        ),
    ]
}

#[test]
fn recorded_answers_are_what_the_session_says() {
    let mut session = kernel("caller", "rocket");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/web/fixtures");
    for (name, request) in requests() {
        let found = serde_json::to_string_pretty(&answer(&mut session, request)).unwrap() + "\n";
        let path = format!("{folder}/{name}.json");
        if Recorded::is_blessing() {
            std::fs::write(&path, found).unwrap();
            continue;
        }
        let expected: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&found).unwrap(),
            expected,
            "{name}: cargo xtask bless page"
        );
    }
}
