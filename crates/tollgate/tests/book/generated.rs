//! Lists of the reference that follow from the program, between the marks of `cargo xtask bless book`.

use crate::{PROGRAM, root, shell};
use serde_json::Value;
use std::fmt::Write;
use std::process::Command;
use tollgate_boundary::{CROSSINGS, FAULT_KINDS, LADDER, PROBES};
use tollgate_cores::{Core, Design};
use tollgate_measure::Probe;
use tollgate_record::schema;
use tollgate_record::vocabulary::{cause, counter, phase, warning};
use tollgate_runtime::Sources;
use tollgate_testkit::Recorded;

/// Holds what is generated in a page to what it should be.
fn hold(page: &str, list: &str) {
    Recorded::in_page("book", &format!("docs/reference/{page}"))
        .assert(&format!("\n{}\n\n", list.trim_end()));
}

/// A cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[test]
fn commands() {
    let output = Command::new(PROGRAM).arg("examples").output().unwrap();
    let commands: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let home = tempfile::tempdir().unwrap();
    let mut list = "| command | what it does | example |\n|---|---|---|\n".to_owned();
    for command in &commands {
        let path = format!("tollgate {}", command["command"].as_str().unwrap());
        let help = shell(&format!("{path} -h"), home.path());
        let help = String::from_utf8(help.stdout).unwrap();
        let about: Vec<&str> = help.lines().take_while(|line| !line.is_empty()).collect();
        let example = command["examples"][0].as_str().unwrap_or_default();
        writeln!(list, "| `{}` | {} | `{}` |", path.trim(), cell(&about.join(" ")), cell(example)).unwrap();
    }
    hold("commands.md", &list);
}

fn probes(of: &[&dyn Probe]) -> String {
    let mut list = "| probe | per | what one crossing does |\n|---|---|---|\n".to_owned();
    for meta in of.iter().map(|probe| probe.meta()) {
        let family = meta.id.split('/').next().unwrap();
        let per = serde_json::to_value(meta.per).unwrap();
        let anchor = meta.id.replace('/', "");
        writeln!(
            list,
            "| [`{}`](probes/{family}.md#{anchor}) | {} | {} |",
            meta.id,
            per.as_str().unwrap(),
            cell(meta.what)
        )
        .unwrap();
    }
    list
}

/// The calls between languages: rows of the list above.
fn borders() -> String {
    let mut list = String::new();
    for (runtime, mechanism, _) in tollgate_runtime::choice::borders(&Sources::Embedded).unwrap() {
        let id = runtime.row(&mechanism);
        let anchor = format!("ffi{}", runtime.id);
        writeln!(list, "| [`{id}`](probes/ffi.md#{anchor}) | call | {} |", cell(&mechanism.what)).unwrap();
    }
    list
}

#[test]
fn every_border_has_its_section() {
    let page = std::fs::read_to_string(root().join("docs/reference/probes/ffi.md")).unwrap();
    for (runtime, ..) in tollgate_runtime::choice::borders(&Sources::Embedded).unwrap() {
        let heading = format!("\n## ffi/{}\n", runtime.id);
        assert!(page.contains(&heading), "docs/reference/probes/ffi.md has no section ## ffi/{}", runtime.id);
    }
}

#[test]
fn lists_of_probes() {
    let list = format!(
        "## The ladder\n\n`tollgate` and `tollgate run` measure these.\n\n{}\n\
         ## Families that are measured when they are named\n\n`tollgate run wake`, or one row: \
         `tollgate run wake/futex`.\n\n{}{}\n\
         ## Crossings taken apart\n\n`tollgate crossing` measures these, each with a bill. \
         [The lab](../labs/crossing.md) explains them. The rows `hardware/*` are from \
         [a bare guest](probes/hardware.md).\n\n{}\n\
         ## Kinds of page faults\n\n`tollgate fault kinds` measures these. \
         [The lab](../labs/fault.md) explains them, and the scan.\n\n{}",
        probes(LADDER),
        probes(&PROBES[LADDER.len()..]),
        borders(),
        probes(CROSSINGS),
        probes(FAULT_KINDS)
    );
    hold("probes.md", &list);
}

fn bundled_cores() -> String {
    let mut list = "| core | what it models |\n|---|---|\n".to_owned();
    for name in Core::PRESETS {
        writeln!(list, "| `{name}` | {} |", cell(&Core::preset(name).unwrap().about)).unwrap();
    }
    list.push_str("\nThese names were used in earlier versions and still select a core:");
    for (index, (earlier, now)) in Core::ALIASES.iter().enumerate() {
        write!(list, "{} `{earlier}` is `{now}`", if index == 0 { "" } else { "," }).unwrap();
    }
    list.push_str(".\n");
    list
}

/// The type of a key that may be absent.
fn bare(rust: &str) -> &str {
    rust.trim_start_matches("Option<").trim_end_matches('>')
}

/// The keys of a core follow from the fields of the types that read it, with their comments.
#[test]
fn cores() {
    let source = ["core", "csr", "keys"]
        .map(|name| std::fs::read_to_string(root().join(format!("crates/cores/src/{name}.rs"))).unwrap());
    let source = source.concat();
    let fields = |of: &str| -> Vec<(String, String, String)> {
        let (_, body) = source.split_once(&format!("pub struct {of} {{\n")).unwrap_or_else(|| panic!("{of}"));
        let (body, _) = body.split_once("\n}").unwrap();
        let mut fields = Vec::new();
        let mut comment = String::new();
        for line in body.lines().map(str::trim) {
            if let Some(more) = line.strip_prefix("/// ") {
                comment = format!("{comment} {more}");
            } else if line == "#[serde(skip)]" {
                break;
            } else if let Some((name, kind)) = line.strip_prefix("pub ").and_then(|it| it.split_once(": ")) {
                let name = name.trim_end_matches('_').replace('_', "-");
                fields.push((name, kind.trim_end_matches(',').to_owned(), std::mem::take(&mut comment)));
            }
        }
        fields
    };

    let value = |rust: &str| match rust {
        "u32" | "u64" => "number",
        "bool" => "true or false",
        "String" => "text",
        "Operation" => "operation",
        "Design" => "`textbook`, `ibex`, `picorv32`, `vexriscv`, `cv32e40x`, `rocket`, `cva6`",
        "Kind" => "`single-cycle`, `multi-cycle`, `two-stage`, `five-stage`",
        "Predictor" => "`not-taken`, `backward-taken`, `bimodal`",
        "Policy" => "`lru`, `plru`, `fifo`, `random`, `lfsr`, `lfsr16`",
        other => panic!("say what a {other} is"),
    };
    let mut list = "| key | value | of | meaning |\n|---|---|---|---|\n".to_owned();
    let mut row = |key: &str, rust: &str, meaning: &str| {
        let meaning = cell(&meaning.replace("[`", "`").replace("`]", "`"));
        let read = if rust == "Operation" { format!("{key}.cycles") } else { key.to_owned() };
        let designs: Vec<&str> =
            Design::ALL.iter().filter(|design| design.reads(&read)).map(|design| design.name()).collect();
        let of = if designs.len() == Design::ALL.len() { "all".to_owned() } else { designs.join(", ") };
        assert!(!of.is_empty(), "no design reads {key}");
        writeln!(list, "| `{key}` | {} | {of} | {meaning} |", value(rust)).unwrap();
    };
    for (name, rust, meaning) in fields("Core") {
        let of = bare(&rust);
        if ["String", "Design"].contains(&of) {
            row(&name, of, &meaning);
            continue;
        }
        if of == "Operations" {
            for (key, rust, meaning) in fields("Operation") {
                row(&format!("{name}.*.{key}"), bare(&rust), &meaning);
            }
        }
        for (key, rust, meaning) in fields(of) {
            let (key, rust) = (format!("{name}.{key}"), bare(&rust));
            if rust == "CsrFlushes" {
                for (kind, rust, meaning) in fields(rust) {
                    row(
                        &format!("{key}.{kind}"),
                        bare(&rust),
                        &format!("The same after a write of {meaning}"),
                    );
                }
            } else {
                row(&key, rust, &meaning);
            }
        }
    }
    let keys = "Each design has its own keys, which the third column names; what they do not say, its code does. A key that a \
                design does not read, or that does not exist, is refused, and the error names the nearest one. Keys that \
                are absent keep their default: five stages with forwarding, operations of one cycle, no penalties, no \
                caches, free translation. Penalties are bubbles: cycles in which nothing retires.";
    hold("cores.md", &format!("{}\n## Keys\n\n{keys}\n\n{list}", bundled_cores()));
}

fn names<'a>(of: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut list = "| name | meaning |\n|---|---|\n".to_owned();
    for (name, meaning) in of {
        writeln!(list, "| `{name}` | {} |", cell(meaning)).unwrap();
    }
    list
}

#[test]
fn warnings() {
    hold("warnings.md", &names(warning::ALL.iter().map(|it| (it.name, it.meaning))));
}

#[test]
fn counters_phases_and_causes() {
    let counters = names(counter::ALL.iter().map(|it| (it.name, it.meaning)));
    let phases = names(phase::ALL.iter().map(|it| (it.name, it.meaning)));
    let causes = names(cause::ALL.iter().map(|it| (it.name, it.meaning)));
    let list = format!(
        "## Counters\n\n{counters}\n## Phases\n\n{phases}\n## Causes of simulated cycles\n\n{causes}"
    );
    hold("names.md", &list);
}

/// The type of a value in the schema, in words.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|it| it.rsplit('/').next()) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(value) = schema["const"].as_str() {
        return format!("`{value}`");
    }
    if let Some(options) = schema["anyOf"].as_array() {
        return kind(&options[0]);
    }
    let name = match &schema["type"] {
        Value::Array(kinds) => kinds[0].as_str(),
        kind => kind.as_str(),
    };
    match name {
        Some("array") if schema["items"].is_object() => format!("list of {}", kind(&schema["items"])),
        Some("object") if schema["additionalProperties"].is_object() => {
            format!("{} by name", kind(&schema["additionalProperties"]))
        }
        Some("integer") => "whole number".to_owned(),
        Some(name) => name.to_owned(),
        None => "anything".to_owned(),
    }
}

/// A table of the fields of an object in the schema, or the type of another value.
fn fields(of: &Value) -> String {
    if of["properties"].is_null() {
        return format!("Value: {}.\n", kind(of));
    }
    let required: Vec<&str> =
        of["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut list = "| field | value | meaning |\n|---|---|---|\n".to_owned();
    for (name, field) in of["properties"].as_object().into_iter().flatten() {
        let optional = if required.contains(&name.as_str()) { "" } else { ", optional" };
        let meaning = field["description"].as_str().unwrap_or_default();
        let meaning = cell(&meaning.replace("[`", "`").replace("`]", "`"));
        writeln!(list, "| `{name}` | {}{optional} | {meaning} |", kind(field)).unwrap();
    }
    list
}

#[test]
fn fields_of_the_record() {
    let schema: Value = serde_json::from_str(&schema::json()).unwrap();
    let mut list = format!("## Run\n\n{}", fields(&schema));
    for (name, of) in schema["$defs"].as_object().unwrap() {
        let about = cell(of["description"].as_str().unwrap_or_default());
        write!(list, "\n## {name}\n\n{about}\n\n").unwrap();
        let Some(options) = of["oneOf"].as_array() else {
            list += &fields(of);
            continue;
        };
        let of_family = |option: &&Value| option["properties"]["family"].is_object();
        if options.iter().any(|option| of_family(&option)) {
            for option in options.iter().filter(of_family) {
                let family = option["properties"]["family"]["const"].as_str().unwrap();
                let about = cell(option["description"].as_str().unwrap_or_default());
                writeln!(list, "**{family}**: {about}\n").unwrap();
                if option["properties"].as_object().is_some_and(|fields| fields.len() > 1) {
                    list += &(fields(option) + "\n");
                }
            }
        } else {
            list += &names(options.iter().filter_map(|option| {
                Some((option["const"].as_str()?, option["description"].as_str().unwrap_or_default()))
            }));
        }
    }
    hold("record.md", &list);
}
