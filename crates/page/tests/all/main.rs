//! The session as a page uses it.

mod assembling;
mod exercises;
mod fixtures;
mod running;
mod sheets;
mod traps;
mod views;

use serde_json::{Value, json};
use tollgate_page::Session;

/// What a request is answered.
fn answer(session: &mut Session, request: Value) -> Value {
    let mut reply: Value = serde_json::from_str(&session.call(&request.to_string())).unwrap();
    assert_eq!(reply["ok"], true, "{request}: {reply}");
    reply["answer"].take()
}

/// Why a request is refused.
fn refusal(session: &mut Session, request: Value) -> (String, String) {
    let reply: Value = serde_json::from_str(&session.call(&request.to_string())).unwrap();
    assert_eq!(reply["ok"], false, "{request}: {reply}");
    let text = |key: &str| reply["error"][key].as_str().unwrap().to_owned();
    (text("kind"), text("message"))
}

/// A session with a source loaded, on a core if one is named.
fn loaded(source: &str, core: Option<&str>) -> Session {
    let mut session = Session::default();
    let core = core.map(|name| json!({ "name": name }));
    let files = json!([{ "name": "main.s", "text": source }]);
    answer(
        &mut session,
        json!({ "op": "load", "program": { "kind": "source", "files": files }, "core": core }),
    );
    session
}

/// A session with a bundled kernel loaded.
fn kernel(name: &str, core: &str) -> Session {
    let mut session = Session::default();
    let program = json!({ "kind": "kernel", "kernel": name });
    answer(&mut session, json!({ "op": "load", "program": program, "core": { "name": core } }));
    session
}

/// The value of a register in a state.
fn register(state: &Value, name: &str) -> String {
    let all = state["x"].as_array().unwrap();
    all.iter().find(|it| it["name"] == name).unwrap()["value"].as_str().unwrap().to_owned()
}
