//! Exact bills: what `riscv exec` writes besides them, and two kernels side by side.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_record::{Run, document};
use tollgate_testkit::skip;

fn tollgate(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .arg("riscv")
        .args(arguments)
        // Runs are saved; not among the user's own.
        .env("XDG_DATA_HOME", env!("CARGO_TARGET_TMPDIR"))
        .output()
        .expect("tollgate starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// The events that we write, as Chrome's "Trace Event Format" and Perfetto's reader of JSON want them.
fn trace_events() -> Value {
    let (text, number) =
        (json!({ "type": "string", "minLength": 1 }), json!({ "type": "integer", "minimum": 0 }));
    let metadata = json!({
        "properties": {
            "ph": { "const": "M" }, "name": { "enum": ["process_name", "thread_name"] }, "pid": number, "tid": number,
            "args": { "type": "object", "required": ["name"], "properties": { "name": text } },
        },
        "required": ["ph", "name", "pid", "args"],
    });
    let complete = json!({
        "properties": {
            "ph": { "const": "X" }, "name": text, "cat": text, "pid": number, "tid": number,
            "ts": { "type": "number", "minimum": 0 }, "dur": { "type": "number", "exclusiveMinimum": 0 },
            "args": { "type": "object" },
        },
        "required": ["ph", "name", "cat", "pid", "tid", "ts", "dur"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {
            "displayTimeUnit": { "enum": ["ms", "ns"] },
            "traceEvents": { "type": "array", "minItems": 3, "items": { "oneOf": [metadata, complete] } },
        },
        "required": ["traceEvents"],
        "additionalProperties": false,
    })
}

#[test]
fn the_timeline_holds_to_the_schema_and_the_trace_has_whole_records() {
    let dir = TempDir::new().unwrap();
    let [timeline, trace] = ["timeline.json", "hello.trace"].map(|name| dir.path().join(name));
    let program = format!("{}/../../guests/riscv/images/ctx_switch-linux.elf", env!("CARGO_MANIFEST_DIR"));
    let (status, _, said) = tollgate(&[
        "exec",
        "--no-save",
        "--user-only",
        "--timeline",
        timeline.to_str().unwrap(),
        "--drmemtrace",
        trace.to_str().unwrap(),
        "--",
        &program,
    ]);
    assert_eq!(status, Some(0), "{said}");
    let document: Value = serde_json::from_str(&fs::read_to_string(&timeline).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&trace_events()).unwrap();
    let wrong: Vec<String> =
        validator.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let calls =
        document["traceEvents"].as_array().unwrap().iter().filter(|event| event["cat"] == "system call");
    assert!(calls.count() >= 6);
    let bytes = fs::read(&trace).unwrap();
    assert_eq!((bytes.len() % 12, &bytes[..4]), (0, &[25, 0, 0, 0][..]), "it begins with a header");
    // A folder is refused before the program runs.
    let (status, _, said) =
        tollgate(&["exec", "--user-only", "--timeline", dir.path().to_str().unwrap(), "--", &program]);
    assert_eq!(status, Some(125), "{said}");
    assert!(said.contains("is a directory; add a file name"), "{said}");
}

/// The record of the template kernel with some text instead of another one.
fn bill(dir: &Path, name: &str, template: &str) -> Run {
    let (source, out) = (dir.join(format!("{name}.s")), dir.join(format!("{name}.json")));
    fs::write(&source, template).unwrap();
    let (source, out) = (source.to_str().unwrap(), out.to_str().unwrap());
    let (status, _, said) = tollgate(&["trap", "--no-save", "--kernel", source, "--json", "--out", out]);
    assert_eq!(status, Some(0), "{said}");
    document::from_json(&fs::read(out).unwrap()).unwrap()
}

/// Our own kernel, with and without twenty instructions where it begins to save registers.
#[test]
fn twenty_planted_instructions_are_the_difference_of_two_kernels() {
    let dir = TempDir::new().unwrap();
    let (status, template, said) = tollgate(&["trap", "--kernel", "template"]);
    assert_eq!(status, Some(0), "{said}");
    let planted = template.replace("phase_save:\n", &format!("phase_save:\n{}", "        nop\n".repeat(20)));
    assert_ne!(planted, template);
    let runs = [bill(dir.path(), "old", &template), bill(dir.path(), "new", &planted)];
    let names = ["old".to_owned(), "new".to_owned()];
    let found = tollgate_judge::kernels(&runs[0], &runs[1], names.clone()).unwrap();
    for it in &found.crossings {
        assert_eq!(it.total.difference(), 20, "{it:?}");
        let moved: Vec<_> = it.phases.iter().filter(|phase| phase.difference() != 0).collect();
        assert_eq!(moved.len(), 1, "{moved:?}");
        assert_eq!((moved[0].name.as_str(), moved[0].difference()), ("register-save", 20));
        assert!(it.phases.len() > 3);
    }
    let same = tollgate_judge::kernels(&runs[0], &runs[0], names).unwrap();
    assert!(same.crossings.iter().all(|it| it.total.difference() == 0 && it.functions.is_empty()));
}

/// `j` from one address to another.
fn jump(from: u64, to: u64) -> u32 {
    let offset = to.wrapping_sub(from) as u32;
    let bits = |high: u32, low: u32| offset >> low & ((1 << (high - low + 1)) - 1);
    bits(20, 20) << 31 | bits(10, 1) << 21 | bits(11, 11) << 20 | bits(19, 12) << 12 | 0x6f
}

/// Debian's kernel at `TOLLGATE_LINUX`, with and without twenty instructions on the way into a system call: the handler begins with a
/// jump to another one that nothing calls here, which has eighteen in between, what the jump replaced, and the jump back.
#[test]
fn twenty_instructions_planted_in_linux_are_found() {
    let Some(path) = std::env::var_os("TOLLGATE_LINUX") else {
        return skip!("TOLLGATE_LINUX does not name a riscv64 kernel");
    };
    let dir = TempDir::new().unwrap();
    let mut image = fs::read(&path).unwrap();
    let symbols = tollgate_lab::system::functions(&image).expect("symbols");
    let at = |name: &str| symbols.iter().find(|it| it.0 == name).map(|it| it.1);
    let base = symbols.iter().map(|it| it.1).min().unwrap();
    let entry = at("do_trap_ecall_u").unwrap();
    // Handlers of faults that a working program does not have, beside that of calls.
    let bytes =
        |from: u64| symbols.iter().map(|it| it.1).filter(|it| *it > from).min().unwrap_or(from) - from;
    let (name, room) = ["do_trap_insn_fault", "do_trap_load_fault", "do_trap_store_fault", "do_trap_break"]
        .into_iter()
        .filter_map(|name| Some((name, at(name)?)))
        .find(|it| bytes(it.1) >= 80 && it.1.abs_diff(entry) < 1 << 20)
        .expect("room for twenty instructions");
    let offset = |address: u64| (address - base) as usize;
    let word = |image: &[u8], at: usize| u32::from_le_bytes(image[at..at + 4].try_into().unwrap());
    let first = word(&image, offset(entry));
    let mut put = |address: u64, word: u32| {
        image[offset(address)..][..4].copy_from_slice(&word.to_le_bytes());
    };
    // Two short instructions of the prologue, or a long one that does not depend on its address.
    let is_long = |half: u32| half & 3 == 3;
    assert!(if is_long(first) { first & 0x7f == 0x13 } else { !is_long(first >> 16) }, "{first:#x}");
    put(entry, jump(entry, room));
    // The jump, eighteen in between, and the jump back.
    for n in 0..18 {
        put(room + 4 * n, 0x13);
    }
    put(room + 72, first);
    put(room + 76, jump(room + 76, entry + 4));
    let planted = dir.path().join("Image");
    fs::write(&planted, &image).unwrap();
    let out = dir.path().join("found.json");
    let (status, _, said) = tollgate(&[
        "bill",
        "--no-save",
        "--kernel",
        planted.to_str().unwrap(),
        "--against-kernel",
        path.to_str().unwrap(),
        "--call",
        "getpid,read",
        "--fail-above",
        "1%",
        "--json",
        "--out",
        out.to_str().unwrap(),
    ]);
    assert_eq!(status, Some(1), "{said}");
    let found: Value = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap();
    let crossings = found["crossings"].as_array().unwrap();
    assert_eq!(crossings.len(), 2);
    for it in crossings {
        let difference =
            |moved: &Value| moved["cost"][1].as_i64().unwrap() - moved["cost"][0].as_i64().unwrap();
        assert_eq!(difference(&it["total"]), 20, "{it}");
        assert_eq!(it["phases"].as_array().unwrap().iter().map(difference).sum::<i64>(), 20);
        let names: Vec<&str> =
            it["functions"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert!(names.contains(&name), "{names:?}");
    }
}
