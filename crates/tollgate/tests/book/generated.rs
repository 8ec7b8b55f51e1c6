//! Lists of the reference that follow from the program, between `<!-- generated: NAME -->` and `<!-- end -->`.

use crate::pages::Page;
use crate::{PROGRAM, hold, root, shell};
use serde_json::Value;
use std::fmt::Write;
use std::process::Command;
use tollgate_boundary::{CROSSINGS, FAULT_KINDS, PROBES};
use tollgate_measure::Probe;
use tollgate_riscv::timing::Core;

/// Holds the list of this name in a page to what it should be.
fn hold_list(page: &str, name: &str, list: &str) {
    let page = Page::at(&root(), page);
    let begin = format!("<!-- generated: {name} -->\n");
    let (before, rest) =
        page.text.split_once(&begin).unwrap_or_else(|| panic!("{} has no {name}", page.name));
    let (_, after) = rest.split_once("<!-- end -->").unwrap_or_else(|| panic!("{name} has no end"));
    hold(&page.path, &page.text, &format!("{before}{begin}\n{}\n\n<!-- end -->{after}", list.trim_end()));
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
    hold_list("docs/reference/commands.md", "commands", &list);
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

#[test]
fn probes_of_the_ladder() {
    hold_list("docs/reference/probes.md", "ladder", &probes(PROBES));
}

#[test]
fn crossings_that_are_taken_apart() {
    hold_list("docs/reference/probes.md", "crossings", &probes(CROSSINGS));
}

#[test]
fn kinds_of_faults() {
    hold_list("docs/reference/probes.md", "faults", &probes(FAULT_KINDS));
}

#[test]
fn bundled_cores() {
    let mut list = "| core | what it models |\n|---|---|\n".to_owned();
    for name in Core::PRESETS {
        writeln!(list, "| `{name}` | {} |", cell(&Core::preset(name).unwrap().about)).unwrap();
    }
    hold_list("docs/reference/cores.md", "cores", &list);
}

/// The keys of a core follow from the fields of the types that read it, with their comments.
#[test]
fn keys_of_a_core() {
    let source = root().join("crates/riscv/src/timing/core.rs");
    let source = std::fs::read_to_string(source).unwrap();
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
    let kind = |rust: &str| match rust {
        "u32" | "u64" => "number",
        "bool" => "true or false",
        "String" => "text",
        "Operation" => "`{ cycles, pipelined }`",
        "Kind" => "`single-cycle`, `two-stage`, `five-stage`",
        "Predictor" => "`not-taken`, `backward-taken`, `bimodal`",
        "Replacement" => "`lru`, `plru`, `fifo`, `random`",
        other => panic!("say what a {other} is"),
    };
    let mut list = "| key | value | meaning |\n|---|---|---|\n".to_owned();
    let mut row = |key: &str, rust: &str, meaning: &str| {
        let meaning = cell(&meaning.replace("[`", "`").replace("`]", "`"));
        writeln!(list, "| `{key}` | {} | {meaning} |", kind(rust)).unwrap();
    };
    for (name, rust, meaning) in fields("Core") {
        let of = rust.trim_start_matches("Option<").trim_end_matches('>');
        if of == "String" {
            row(&name, of, &meaning);
            continue;
        }
        for (key, rust, meaning) in fields(of) {
            row(&format!("{name}.{key}"), &rust, &meaning);
        }
    }
    hold_list("docs/reference/cores.md", "keys", &list);
}
