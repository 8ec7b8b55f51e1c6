//! Sheets are those of the terminal, and their records can be read.

use serde_json::{Value, json};
use tollgate_page::Session;
use tollgate_record::document;
use tollgate_report::{Style, view};

use crate::{answer, kernel, refusal};

fn sheet(session: &mut Session, sheet: Value) -> Value {
    answer(session, json!({ "op": "sheet", "sheet": sheet }))
}

#[test]
fn the_bill_of_a_trap_is_the_terminals_and_two_cores_are_in_one_sheet() {
    let session = &mut Session::default();
    let subjects = json!([
        { "kernel": "full", "core": { "name": "rocket" } }, { "kernel": "full", "core": { "name": "ripes-5stage" } },
    ]);
    let bill = sheet(session, json!({ "view": "trap", "subjects": subjects }));
    let text = bill["text"].as_str().unwrap();
    assert!(text.contains("rocket") && text.contains("ripes-5stage"), "{text}");
    let one = sheet(
        session,
        json!({ "view": "trap", "subjects": [{ "kernel": "full", "core": { "name": "cva6" } }] }),
    );
    assert!(one["text"].as_str().unwrap().contains("register save"), "{one}");
    assert!(bill["html"].as_str().unwrap().contains("<table"), "{bill}");
    assert_eq!(
        bill["command"],
        "tollgate riscv trap --kernel full --core rocket --kernel full --core ripes-5stage --iterations 100"
    );
    let saved = answer(
        session,
        json!({ "op": "record", "sheet": bill["sheet"], "started": "2026-11-29T00:00:00Z", "id": "01KB0000000000000000000000" }),
    );
    let run = document::from_json(saved["text"].as_str().unwrap().as_bytes()).unwrap();
    let terminal = Style { width: 80, unicode: true, ..Style::PLAIN };
    assert_eq!(view(&run, &terminal), text, "what a command prints is what show prints");
}

#[test]
fn the_ledger_of_a_program_adds_up_to_its_cycles() {
    let mut session = kernel("caller", "rocket");
    let ran = answer(&mut session, json!({ "op": "run" }));
    let ledger = sheet(&mut session, json!({ "view": "ledger" }));
    answer(&mut session, json!({ "op": "record", "id": "x", "started": "2026-11-29T00:00:00Z" }));
    let cycles = ran["state"]["cycles"].as_u64().unwrap();
    let shown = tollgate_record::number::count(cycles);
    assert!(ledger["text"].as_str().unwrap().contains(&shown), "{shown}: {}", ledger["text"]);
}

/// The note's rates, as the lab page has them.
#[test]
fn the_instruction_cache_shows_one_half_and_three_quarters() {
    let shown = sheet(&mut Session::default(), json!({ "view": "icache" }));
    let text = shown["text"].as_str().unwrap();
    assert!(text.contains("0.4999") && text.contains("0.7498"), "{text}");
}

#[test]
fn an_own_entry_is_billed_beside_a_bundled_one() {
    let session = &mut Session::default();
    let template = answer(session, json!({ "op": "template" }));
    let files = json!([{ "name": "mine.s", "text": template }]);
    let subjects = json!([{ "files": files, "core": { "name": "rocket" } }, { "kernel": "full", "core": { "name": "rocket" } }]);
    let text =
        sheet(session, json!({ "view": "trap", "subjects": subjects }))["text"].as_str().unwrap().to_owned();
    assert!(text.contains("mine.s") && text.contains("full"), "{text}");
    let files = json!([{ "name": "mine.s", "text": "trap_entry: nop\n" }]);
    let (kind, why) = refusal(
        session,
        json!({ "op": "sheet", "sheet": { "view": "trap", "subjects": [{ "files": files }] } }),
    );
    assert_eq!((kind.as_str(), why.contains("no mret")), ("source", true), "{why}");
}
