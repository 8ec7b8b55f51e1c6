//! Traps, taken apart.

use serde_json::{Value, json};

use crate::{answer, kernel};

/// A trap that is walked through at any time: hardware, phases, return.
#[test]
fn a_walk_has_the_steps_of_the_hardware_the_phases_and_the_return() {
    let mut session = kernel("full", "rocket");
    answer(&mut session, json!({ "op": "run" }));
    let before = answer(&mut session, json!({ "op": "state" }));
    let traps = answer(&mut session, json!({ "op": "traps" }));
    let calls = traps.as_array().unwrap().iter().filter(|it| it["cause"] == "environment call from U-mode");
    let call = calls.clone().nth(1).expect("ten crossings and one before");
    let walk = answer(&mut session, json!({ "op": "trapWalk", "index": call["index"] }));
    assert_eq!(walk["trap"], *call);
    assert_eq!(walk["instruction"], "ecall");
    let hardware = walk["hardware"].as_array().unwrap();
    assert_eq!(hardware.len(), 7);
    assert_eq!(hardware[1]["changes"][0]["after"], "0x8");
    assert_eq!(hardware[6]["changes"][0]["after"], call["handler"]);
    // What the bill of the terminal says of this kernel, phase by phase (docs/labs/trap.md): its 95 instructions, of which the
    // stub of the program has the rest.
    let sum = |name: &str| {
        let parts = walk["handler"].as_array().unwrap().iter().filter(|it| it["phase"] == name);
        parts.map(|it| it["instructions"].as_u64().unwrap()).sum::<u64>()
    };
    let phases =
        ["stack switch", "register save", "dispatch", "handler", "register restore", "return"].map(sum);
    assert_eq!(phases, [3, 37, 16, 3, 35, 1]);
    // The ledger of the handler is its cycles.
    for part in walk["handler"].as_array().unwrap() {
        let causes: u64 =
            part["causes"].as_array().unwrap().iter().map(|it| it["cycles"].as_u64().unwrap()).sum();
        assert_eq!(Some(causes), part["cycles"].as_u64(), "{part}");
    }
    assert_eq!(walk["to"].as_str(), walk["return"][2]["changes"][0]["after"].as_str());
    let changed: Vec<&Value> = walk["changed"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(changed, ["a0"], "only the result");
    // The machine is where it was.
    let after = answer(&mut session, json!({ "op": "state" }));
    for key in ["pc", "cycles", "instructions", "console", "ended"] {
        assert_eq!(before[key], after[key], "{key}");
    }
}

#[test]
fn a_nested_trap_is_part_of_the_one_around_it() {
    let mut session = kernel("nested-taken", "ripes-5stage");
    answer(&mut session, json!({ "op": "run" }));
    let traps = answer(&mut session, json!({ "op": "traps" }));
    let walks = traps.as_array().unwrap().iter().map(|trap| {
        answer(&mut session, json!({ "op": "trapWalk", "index": trap["index"] }))["nested"].as_u64().unwrap()
    });
    assert!(walks.collect::<Vec<_>>().contains(&1));
}

#[test]
fn walking_through_all_traps_leaves_the_machine_where_it_was() {
    for name in ["full", "nested-taken", "timer-space"] {
        let mut session = kernel(name, "ripes-5stage");
        answer(&mut session, json!({ "op": "run" }));
        let before = answer(&mut session, json!({ "op": "traps" }));
        for trap in before.as_array().unwrap() {
            answer(&mut session, json!({ "op": "trapWalk", "index": trap["index"] }));
            let now = answer(&mut session, json!({ "op": "traps" }));
            let state = answer(&mut session, json!({ "op": "state" }));
            assert_eq!(
                now.as_array().unwrap().len(),
                before.as_array().unwrap().len(),
                "{name} {trap} {} {}",
                state["position"],
                state["traps"]
            );
        }
    }
}
