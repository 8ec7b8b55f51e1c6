//! Lists: cores, kernels, programs to start from, exercises.

use serde_json::{Value, json};
use tollgate_cores::Core;
use tollgate_lab::DESIGNS;
use tollgate_lab::exercise::{self, ExerciseError};

use crate::failure::{Answer, Failure};
use crate::request::SourceFile;

/// The sources of the bundled kernels, by the names of their designs.
const SOURCES: &[(&str, &str, &str)] = &[
    ("full", "full.S", include_str!("../guests/riscv/kernels/full.S")),
    ("caller", "caller.S", include_str!("../guests/riscv/kernels/caller.S")),
    ("fp-eager", "fp.S", include_str!("../guests/riscv/kernels/fp.S")),
    ("bank", "bank.S", include_str!("../guests/riscv/kernels/bank.S")),
    ("stack", "stack.S", include_str!("../guests/riscv/kernels/stack.S")),
    ("nested", "nested.S", include_str!("../guests/riscv/kernels/nested.S")),
    ("vectored", "vectored.S", include_str!("../guests/riscv/kernels/vectored.S")),
    ("switch-same", "switch.S", include_str!("../guests/riscv/kernels/switch.S")),
];

/// The bundled cores.
pub(crate) fn cores() -> Answer {
    let one = |name: &&str| {
        let toml = Core::preset_toml(name).unwrap_or_default();
        let about = Core::preset(name).map(|core| core.about).unwrap_or_default();
        json!({ "name": name, "about": about, "toml": toml })
    };
    Ok(Core::PRESETS.iter().map(one).collect())
}

/// Whether a text is a core.
pub(crate) fn check_core(text: &str) -> Answer {
    let line = text.parse::<toml::Table>().err().and_then(|error| {
        let start = error.span()?.start;
        Some(1 + text.get(..start)?.matches('\n').count())
    });
    Ok(match Core::from_toml(text) {
        Ok(core) => json!({ "error": null, "line": null, "name": core.name, "about": core.about }),
        Err(error) => {
            let message = error.to_string();
            // The line of the key that the error names.
            let key = message.split(['\'', '.', ' ']).find(|word| {
                word.len() > 2 && text.lines().any(|line| line.trim_start().starts_with(&format!("{word} =")))
            });
            let of_key = key.and_then(|key| {
                text.lines()
                    .position(|line| line.trim_start().starts_with(&format!("{key} =")))
                    .map(|at| at + 1)
            });
            json!({ "error": message, "line": line.or(of_key), "name": null, "about": null })
        }
    })
}

/// The bundled kernels.
pub(crate) fn kernels() -> Answer {
    let one = |design: &tollgate_lab::Design| {
        let source = SOURCES.iter().find(|(name, ..)| *name == design.name);
        json!({
            "name": design.name, "about": design.about, "isa": design.isa,
            "crossing": design.crossing.map(tollgate_lab::Crossing::slug),
            "source": source.map(|(_, name, text)| json!({ "name": name, "text": text })),
        })
    };
    Ok(DESIGNS.iter().map(one).collect())
}

/// A program to start from: its name, the lab that it belongs to, its core, its source. The source begins with its title and a
/// paragraph on it.
struct Start(&'static str, &'static str, Option<&'static str>, &'static str);

macro_rules! start {
    ($id:literal, $lab:literal, $core:expr) => {
        Start($id, $lab, $core, include_str!(concat!("../web/gallery/", $id, ".s")))
    };
}

/// A cache of 4 lines with 8 bytes, as in the note of the lab about instruction caches.
const SMALL_CACHE: &str = "name = 'small-icache'\nabout = 'ripes-5stage with an instruction cache of 4 lines of 8 bytes'\nbase = \
                           'ripes-5stage'\n\n[l1i]\ngeometry = '4:1:8'\n";

static GALLERY: &[Start] = &[
    start!("ecall", "trap", Some("rocket")),
    start!("hazard", "pipeline", Some("ripes-5stage")),
    start!("stalls", "pipeline", Some("rocket")),
    start!("fault", "fault", Some("rocket")),
    start!("timer", "trap", Some("rocket")),
    start!("icache", "icache", None),
    start!("icache-c", "icache", None),
    start!("hello", "first steps", None),
];

/// The title of a source, and the paragraph below it.
fn introduction(source: &str) -> (String, String) {
    let mut lines = source.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
    let title = lines.next().unwrap_or_default().to_owned();
    (title, lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" "))
}

/// The sheet that tells most about a lab.
fn sheet(lab: &str, kernel: Option<&str>) -> Value {
    match (lab, kernel) {
        (_, Some(kernel)) => {
            json!({ "view": "trap", "subjects": [{ "kernel": kernel, "core": { "name": "rocket" } }] })
        }
        ("icache", _) => json!({ "view": "icache" }),
        ("first steps", _) => Value::Null,
        _ => json!({ "view": "ledger" }),
    }
}

/// What can be watched at once: programs of the page, and the bundled kernels.
pub(crate) fn gallery() -> Answer {
    let programs = GALLERY.iter().map(|&Start(id, lab, core, source)| {
        let (title, about) = introduction(source);
        let core = match lab {
            "icache" => json!({ "toml": SMALL_CACHE }),
            _ => core.map_or(Value::Null, |name| json!({ "name": name })),
        };
        let files = json!([{ "name": format!("{id}.s"), "text": source }]);
        json!({
            "id": id, "title": title, "about": about, "lab": lab, "sheet": sheet(lab, None),
            "load": { "op": "load", "program": { "kind": "source", "files": files }, "core": core },
        })
    });
    let kernels = DESIGNS.iter().map(|design| {
        let (name, core) = (design.name, json!({ "name": "rocket" }));
        json!({
            "id": format!("kernel-{name}"), "title": format!("Kernel {name}"), "about": design.about, "lab": "kernels",
            "sheet": sheet("kernels", Some(name)),
            "load": { "op": "load", "program": { "kind": "kernel", "kernel": name }, "core": core },
        })
    });
    Ok(programs.chain(kernels).collect())
}

fn failed(error: ExerciseError) -> Failure {
    Failure::request(error)
}

/// The exercises.
pub(crate) fn exercises() -> Answer {
    let all = exercise::list().map_err(failed)?;
    let one = |it: &exercise::Listing| json!({ "id": it.id, "title": it.title, "about": it.about, "minutes": it.minutes, "core": it.core });
    Ok(all.iter().map(one).collect())
}

const SOLUTION: &str = "solution.s";

/// An exercise for a student.
pub(crate) fn start(id: &str, student: &str) -> Answer {
    let all = exercise::list().map_err(failed)?;
    let listing = all.into_iter().find(|it| it.id == id);
    let started = exercise::start(id, exercise::seed_of(student)).map_err(failed)?;
    let core = started.core.as_ref().map(|name| json!({ "name": name }));
    let files: Value =
        started.files().into_iter().map(|(name, text)| json!({ "name": name, "text": text })).collect();
    Ok(json!({
        "id": started.id, "title": started.title, "about": listing.as_ref().map_or("", |it| it.about.as_str()),
        "minutes": listing.as_ref().map(|it| it.minutes), "student": student, "text": started.text,
        "files": [{ "name": SOLUTION, "text": started.starter }], "hints": [], "core": started.core,
        "harness": started.harness,
        "load": {
            "op": "load", "core": core, "program": { "kind": "source", "files": files },
        },
    }))
}

/// Checks a solution.
pub(crate) fn check(id: &str, student: &str, files: &[SourceFile]) -> Answer {
    let source = files.first().ok_or_else(|| Failure::request("there is no file to check"))?;
    let verdict = exercise::check(id, exercise::seed_of(student), &source.text).map_err(failed)?;
    let checks = verdict.checks.iter().map(|it| {
        let text = match it.passed {
            true => it.found.clone(),
            false => format!("expected {}, found {}", it.expected, it.found),
        };
        json!({
            "name": it.name, "passed": it.passed, "score": if it.passed { it.points } else { 0 }, "of": it.points,
            "text": text, "hint": it.hint, "run": it.run,
        })
    });
    let errors = verdict.errors.iter().map(|it| {
        json!({
            "file": source.name, "line": it.line, "column": it.column, "message": it.message, "nearest": null,
            "length": 1, "expansion": [],
        })
    });
    Ok(json!({
        "id": id, "student": student, "passed": verdict.passed, "score": verdict.points, "of": verdict.most_points,
        "checks": checks.collect::<Value>(), "errors": errors.collect::<Value>(),
        "runs": serde_json::to_value(&verdict.runs).unwrap_or_default(),
    }))
}
