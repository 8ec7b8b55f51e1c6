//! What is shown beside the state: pipeline, caches, page tables, registers.

use serde_json::json;

use crate::{answer, kernel, loaded};

#[test]
fn the_pipeline_is_the_same_whether_the_program_ran_or_stepped_there() {
    let mut stepped = kernel("caller", "rocket");
    let mut ran = kernel("caller", "rocket");
    answer(&mut stepped, json!({ "op": "step", "count": 900 }));
    answer(&mut ran, json!({ "op": "goTo", "position": 900 }));
    let [stepped, ran] = [&mut stepped, &mut ran]
        .map(|it| answer(it, json!({ "op": "pipeline", "count": 40 }))["rows"].clone());
    let last = |rows: &serde_json::Value| {
        rows.as_array().unwrap().iter().rev().take(30).cloned().collect::<Vec<_>>()
    };
    assert_eq!(last(&stepped), last(&ran));
}

/// Two instructions, of which the second waits for the load of the first: Ripes shows one cycle.
#[test]
fn a_stall_is_named_after_its_cause() {
    let mut session = loaded("main: lw a0, 0(sp)\n  addi a0, a0, 1\n  nop\n  nop\n", Some("ripes-5stage"));
    answer(&mut session, json!({ "op": "step", "count": 3 }));
    let pipeline = answer(&mut session, json!({ "op": "pipeline" }));
    assert_eq!(pipeline["stages"], json!(["IF", "ID", "EX", "MEM", "WB"]));
    let wait = &pipeline["rows"][1]["waits"][0];
    assert_eq!(
        (&wait["name"], &wait["about"]),
        (&json!("load-use"), &json!("waits for the result of a load"))
    );
    assert_eq!(wait["first"], wait["last"]);
}

#[test]
fn a_line_that_was_stored_to_is_in_the_data_cache_and_dirty() {
    let source = "main: la t0, data\n  sd t0, 0(t0)\n  nop\n  nop\n  .data\n  .balign 64\ndata: .dword 0\n";
    let mut session = loaded(source, Some("rocket"));
    let cold = answer(&mut session, json!({ "op": "caches" }));
    assert_eq!(cold["caches"][1]["lines"], json!([]));
    answer(&mut session, json!({ "op": "step", "count": 3 }));
    let warm = answer(&mut session, json!({ "op": "caches" }));
    let data = &warm["caches"][1];
    assert_eq!((&data["name"], &data["misses"]), (&json!("L1D"), &json!(1)));
    let line = &data["lines"][0];
    assert_eq!(
        (&line["place"], &line["dirty"], &line["fresh"]),
        (&json!("data"), &json!(true), &json!(true))
    );
    let again = answer(&mut session, json!({ "op": "caches" }));
    assert_eq!(again["caches"][1]["lines"][0]["fresh"], false);
}

/// Against the machine's own translation: each level leads to the page, which is where the address is.
#[test]
fn a_walk_goes_level_by_level_to_the_page() {
    let mut session = kernel("full", "rocket");
    answer(
        &mut session,
        json!({ "op": "run", "breakpoints": [{ "kind": "trap", "cause": "environment call from U-mode" }] }),
    );
    let walk = answer(&mut session, json!({ "op": "walk", "address": "pc", "access": "fetch" }));
    assert_eq!((&walk["scheme"], &walk["fault"]), (&json!("Sv39"), &json!(null)));
    let kinds: Vec<_> =
        walk["levels"].as_array().unwrap().iter().map(|it| it["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds.last(), Some(&"page"));
    assert!(kinds[..kinds.len() - 1].iter().all(|kind| *kind == "table"));
    let mappings = answer(&mut session, json!({ "op": "mappings" }));
    assert!(!mappings.as_array().unwrap().is_empty());
    let walk = answer(&mut session, json!({ "op": "walk", "address": "0x3000000000", "access": "store" }));
    assert!(walk["fault"].as_str().is_some_and(|why| why.contains("page fault")), "{walk}");
}

#[test]
fn fields_of_registers_have_names_and_meanings() {
    let mut session = kernel("full-m", "rocket");
    let run =
        json!({ "op": "run", "breakpoints": [{ "kind": "trap", "cause": "environment call from U-mode" }] });
    let state = &answer(&mut session, run)["state"];
    let csr = |name: &str| state["csrs"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap();
    let field = |register: &str, name: &str| {
        csr(register)["fields"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap()["meaning"]
            .clone()
    };
    assert_eq!(field("mstatus", "MPP"), "U-mode");
    assert_eq!(field("mcause", "Code"), "environment call from U-mode");
    assert_eq!(csr("mcause")["mode"], "M");
}

#[test]
fn names_for_completion_are_those_of_the_assembler() {
    let words = answer(&mut Default::default(), json!({ "op": "words" }));
    let has = |list: &str, name: &str| words[list].as_array().unwrap().iter().any(|it| it["name"] == name);
    assert!(has("instructions", "addi") && has("pseudo", "ret") && has("registers", "a0"));
    assert!(has("csrs", "mepc") && has("directives", ".balign"));
    // Each directive is one.
    for directive in words["directives"].as_array().unwrap() {
        let text = format!("{} 1\n", directive["name"].as_str().unwrap());
        let request = json!({ "op": "assemble", "files": [{ "name": "a.s", "text": text }] });
        let errors = answer(&mut Default::default(), request)["errors"].to_string();
        assert!(!errors.contains("unknown directive") && !errors.contains("not a directive"), "{errors}");
    }
}
