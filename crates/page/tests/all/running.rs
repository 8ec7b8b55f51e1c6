//! Forwards, backwards, and where a run stops.

use serde_json::{Value, json};
use tollgate_page::Session;

use crate::{answer, kernel, loaded, refusal, register};

/// Ten rounds; each writes memory, divides and may miss.
const LOOP: &str = "main: li s0, 10\n  la s1, data\nloop: sd s0, 0(s1)\n  addi s1, s1, 64\n  div s2, s1, s0\n  addi s0, s0, -1\n  \
                    bnez s0, loop\nend: li a7, 93\n  li a0, 0\n  ecall\n  .bss\n  .balign 64\ndata: .zero 1024\n";

/// What a state is about, without what differs only because of earlier answers.
fn plain(state: &Value) -> (Value, Value, Vec<Value>) {
    let x = state["x"].as_array().unwrap().iter().map(|it| it["value"].clone()).collect();
    (state["pc"].clone(), state["cycles"].clone(), x)
}

#[test]
fn each_step_back_is_the_state_that_was_there() {
    for core in [None, Some("rocket"), Some("ripes-5stage")] {
        let mut session = loaded(LOOP, core);
        let mut states = vec![plain(&answer(&mut session, json!({ "op": "state" })))];
        for _ in 0..40 {
            states.push(plain(&answer(&mut session, json!({ "op": "step" }))["state"]));
        }
        for expected in states.iter().rev().skip(1) {
            assert_eq!(&plain(&answer(&mut session, json!({ "op": "back" }))["state"]), expected);
        }
        let ran = answer(&mut session, json!({ "op": "back" }));
        assert_eq!(ran["stop"]["kind"], "start");
        // And forwards again at once.
        let ran = answer(&mut session, json!({ "op": "goTo", "position": 40 }));
        assert_eq!(plain(&ran["state"]), states[40]);
    }
}

#[test]
fn many_instructions_at_once_take_the_cycles_of_single_steps() {
    for core in ["rocket", "cva6", "ibex", "vexriscv"] {
        let mut single = kernel("caller", core);
        let mut whole = kernel("caller", core);
        answer(&mut single, json!({ "op": "step", "count": 5000 }));
        answer(&mut whole, json!({ "op": "goTo", "position": 5000 }));
        let accesses = |session: &mut Session| {
            let mut caches = answer(session, json!({ "op": "caches" }))["caches"].take();
            // Which lines are new since the last answer.
            caches.as_array_mut().unwrap().iter_mut().for_each(|cache| cache["lines"] = Value::Null);
            caches
        };
        assert_eq!(accesses(&mut single), accesses(&mut whole), "{core}");
        let [single, whole] = [&mut single, &mut whole].map(|it| answer(it, json!({ "op": "state" })));
        assert_eq!(plain(&single), plain(&whole), "{core}");
        assert_eq!(single["causes"], whole["causes"], "{core}");
    }
}

#[test]
fn memory_is_as_it_was_after_going_back() {
    let mut session = loaded(LOOP, Some("rocket"));
    let read = json!({ "op": "memory", "address": "data", "length": 8 });
    answer(&mut session, json!({ "op": "run" }));
    assert_eq!(answer(&mut session, read.clone())["bytes"][0], "0a");
    answer(&mut session, json!({ "op": "goTo", "position": 2 }));
    assert_eq!(answer(&mut session, read)["bytes"][0], "00");
}

#[test]
fn an_ended_program_goes_back_to_its_last_instruction() {
    let mut session = loaded(LOOP, None);
    let ran = answer(&mut session, json!({ "op": "run" }));
    assert_eq!(ran["stop"]["kind"], "exit");
    let ran = answer(&mut session, json!({ "op": "back" }));
    assert_eq!((&ran["state"]["instruction"], &ran["state"]["ended"]), (&json!("ecall"), &Value::Null));
    let ran = answer(&mut session, json!({ "op": "back" }));
    assert_eq!(ran["state"]["instruction"], "addi a0,zero,0");
    let ran = answer(&mut session, json!({ "op": "run" }));
    assert_eq!(ran["stop"]["kind"], "exit");
}

#[test]
fn breakpoints_stop_before_addresses_lines_and_registers_and_behind_traps() {
    let mut session = loaded(LOOP, Some("rocket"));
    let run = |session: &mut Session, at: Value| answer(session, json!({ "op": "run", "breakpoints": [at] }));
    for round in [10, 9] {
        let ran = run(&mut session, json!({ "kind": "address", "address": "loop" }));
        assert_eq!(ran["state"]["place"], "loop");
        assert_eq!(register(&ran["state"], "s0"), format!("{round:#x}"));
    }
    let ran = run(&mut session, json!({ "kind": "line", "file": "main.s", "line": 5 }));
    assert_eq!(ran["state"]["instruction"], "div s2,s1,s0");
    assert_eq!(ran["state"]["line"], 5);
    let ran = answer(&mut session, json!({ "op": "runTo", "address": "end" }));
    assert_eq!((&ran["stop"]["kind"], &ran["state"]["place"]), (&json!("done"), &json!("end")));

    let mut session = kernel("full", "rocket");
    let ran = run(&mut session, json!({ "kind": "csr", "csr": "scause" }));
    assert_eq!(ran["state"]["instruction"], "csrrs t0,scause,zero");
    let ran = run(&mut session, json!({ "kind": "trap" }));
    assert_eq!(ran["stop"]["text"], "a trap was taken: environment call from U-mode");
    assert_eq!(ran["state"]["place"], "trap_vector");
    let (_, why) = refusal(&mut session, json!({ "op": "runTo", "address": "trap_vectr" }));
    assert!(why.contains("the nearest is 'trap_vector'"), "{why}");
}

#[test]
fn a_run_is_done_in_slices_that_continue_where_they_stopped() {
    let mut session = loaded("main: j main2\nmain2: addi t0, t0, 1\n  j main2\n", None);
    answer(&mut session, json!({ "op": "start", "run": { "op": "run", "limit": 100_000 } }));
    let mut slices = 0;
    let last = loop {
        slices += 1;
        let advanced = answer(&mut session, json!({ "op": "advance", "steps": 10_000 }));
        if !advanced["stop"].is_null() {
            break advanced;
        }
    };
    assert_eq!((&last["stop"]["kind"], &last["instructions"]), (&json!("limit"), &json!(100_000)));
    assert!(slices >= 10, "{slices}");
}

#[test]
fn an_endless_loop_and_endless_traps_are_named() {
    let mut session = loaded("main: j main\n", None);
    let ran = answer(&mut session, json!({ "op": "run" }));
    assert_eq!(ran["stop"]["kind"], "stuck");
    assert!(ran["stop"]["text"].as_str().unwrap().contains("repeats 1 steps for ever"), "{ran}");
    let mut session = loaded("main: lw t0, 0(zero)\n", None);
    let ran = answer(&mut session, json!({ "op": "run" }));
    assert_eq!(ran["stop"]["kind"], "stuck", "{}", ran["stop"]);
}

/// Each has a title and a text, runs on its core, and ends.
#[test]
fn every_program_of_the_gallery_runs_to_its_end() {
    let gallery = answer(&mut Session::default(), json!({ "op": "gallery" }));
    let all = gallery.as_array().unwrap();
    for entry in all {
        assert!(!entry["title"].as_str().unwrap().is_empty() && !entry["about"].as_str().unwrap().is_empty());
        let mut session = Session::default();
        answer(&mut session, entry["load"].clone());
        let ran = answer(&mut session, json!({ "op": "run" }));
        assert_eq!(
            (&ran["stop"]["kind"], &ran["stop"]["code"]),
            (&json!("exit"), &json!(0)),
            "{}: {}",
            entry["id"],
            ran["stop"]
        );
    }
    assert!(all.iter().any(|entry| entry["lab"] == "icache"));
}
