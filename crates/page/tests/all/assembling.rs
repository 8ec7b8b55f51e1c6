//! Sources and their errors.

use serde_json::json;
use tollgate_page::Session;

use crate::{answer, loaded, refusal, register};

#[test]
fn every_error_has_its_place_and_the_nearest_name() {
    let text = "begin:\n  adi a0, a0, 1\n  j begni\n";
    let files = json!([{ "name": "main.s", "text": text }]);
    let found = answer(&mut Session::default(), json!({ "op": "assemble", "files": files }));
    let errors = found["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 2);
    let shown = |i: usize| {
        let error = &errors[i];
        (
            error["line"].as_u64(),
            error["column"].as_u64(),
            error["length"].as_u64(),
            error["nearest"].as_str(),
        )
    };
    assert_eq!(shown(0), (Some(2), Some(3), Some(3), Some("addi")));
    assert_eq!(shown(1), (Some(3), Some(5), Some(5), Some("begin")));
    let (kind, message) = refusal(
        &mut Session::default(),
        json!({ "op": "load", "program": { "kind": "source", "files": files } }),
    );
    assert_eq!((kind.as_str(), message.as_str()), ("source", "the source has 2 errors"));
}

#[test]
fn a_listing_has_each_instruction_with_its_line() {
    let files =
        json!([{ "name": "main.s", "text": "main: li a0, 1\n  .data\nx: .word 7\n  .text\n  j main\n" }]);
    let found = answer(&mut Session::default(), json!({ "op": "assemble", "files": files }));
    assert_eq!(found["errors"], json!([]));
    let lines =
        found["listing"].as_array().unwrap().iter().map(|it| (it["line"].as_u64(), it["text"].as_str()));
    assert_eq!(
        lines.collect::<Vec<_>>(),
        [(Some(1), Some("addi a0,zero,1")), (Some(5), Some("jal zero,main"))]
    );
    assert!(found["symbols"].as_array().unwrap().iter().any(|it| it["name"] == "x"));
}

#[test]
fn what_is_no_request_or_program_is_refused_with_a_sentence() {
    let session = &mut Session::default();
    for (request, kind, words) in [
        (json!({ "op": "fly" }), "request", "unknown variant `fly`"),
        (json!({ "op": "state" }), "machine", "nothing is loaded"),
        (
            json!({ "op": "load", "program": { "kind": "elf", "name": "a", "base64": "AAAA" } }),
            "request",
            "not an ELF file",
        ),
        (
            json!({ "op": "load", "program": { "kind": "elf", "name": "a", "base64": "!" } }),
            "request",
            "not valid base64",
        ),
        (
            json!({ "op": "load", "program": { "kind": "kernel", "kernel": "ful" } }),
            "request",
            "no kernel is called 'ful'",
        ),
        (
            json!({ "op": "load", "program": { "kind": "source", "files": [] }, "ramBytes": 1u64 << 40 }),
            "request",
            "a page has at most",
        ),
        (
            json!({ "op": "assemble", "files": [{ "name": "a.s", "text": "#".repeat(10_000_000) }] }),
            "request",
            "10000000 bytes",
        ),
    ] {
        let reply: serde_json::Value = serde_json::from_str(&session.call(&request.to_string())).unwrap();
        let found = match reply["ok"] == true {
            // An editor shows it as an error of the file.
            true => reply["answer"]["errors"][0]["message"].as_str().unwrap().to_owned(),
            false => {
                assert_eq!(reply["error"]["kind"], kind, "{reply}");
                reply["error"]["message"].as_str().unwrap().to_owned()
            }
        };
        assert!(found.contains(words), "{found}");
    }
}

#[test]
fn a_program_that_uses_the_library_and_a_stack_runs_to_its_end() {
    let source = "main:\n  addi sp, sp, -16\n  sd ra, 0(sp)\n  la a0, text\n  li a1, 42\n  call printf\n  ld ra, 0(sp)\n  \
                  addi sp, sp, 16\n  li a7, 93\n  li a0, 3\n  ecall\n  .data\ntext: .asciz \"it is %d\\n\"\n";
    let mut session = loaded(source, None);
    let ran = answer(&mut session, json!({ "op": "run" }));
    assert_eq!((&ran["stop"]["kind"], &ran["stop"]["code"]), (&json!("exit"), &json!(3)));
    assert_eq!(ran["state"]["console"], "it is 42\n");
    assert_eq!(register(&ran["state"], "a0"), "0x3");
}
