//! Exercises, as the page asks for them.

use serde_json::json;
use tollgate_page::Session;

use crate::{answer, refusal};

#[test]
fn a_starter_does_not_pass_and_each_student_has_a_seed() {
    let session = &mut Session::default();
    let all = answer(session, json!({ "op": "exercises" }));
    for entry in all.as_array().unwrap() {
        let start = |session: &mut Session, student: &str| {
            answer(session, json!({ "op": "exercise", "exercise": entry["id"], "student": student }))
        };
        let exercise = start(session, "ada");
        assert_eq!(exercise, start(session, "ada"));
        // The whole program can be watched: it ends in the loop at which the checks look.
        let mut load = exercise["load"].clone();
        load["op"] = json!("load");
        answer(session, load);
        answer(session, json!({ "op": "runTo", "address": "done", "limit": 200_000 }));
        assert_ne!(exercise["files"], start(session, "grace")["files"]);
        let check =
            json!({ "op": "check", "exercise": entry["id"], "student": "ada", "files": exercise["files"] });
        let result = answer(session, check);
        assert_eq!(result["passed"], false, "{}", entry["id"]);
        assert!(result["checks"].as_array().unwrap().iter().any(|check| check["hint"].is_string()));
        let broken = json!([{ "name": "solution.s", "text": "adi a0, a0, 1\n" }]);
        let check = json!({ "op": "check", "exercise": entry["id"], "student": "ada", "files": broken });
        assert!(!answer(session, check)["errors"].as_array().unwrap().is_empty());
    }
    let (kind, why) = refusal(session, json!({ "op": "exercise", "exercise": "coun", "student": "ada" }));
    assert!(kind == "request" && why.contains("'count'"), "{why}");
}
