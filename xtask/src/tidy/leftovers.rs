//! Unfinished work is in issues, not in the sources.

use super::rule::{Finding, Rule};
use super::tree::Tree;
use regex::Regex;
use std::sync::LazyLock;

pub(super) const RULE: Rule =
    Rule { name: "leftovers", what: "no source contains a mark of unfinished work", check };

const SOURCES: &[&str] =
    &[".rs", ".c", ".h", ".S", ".s", ".ld", ".toml", ".sh", ".py", ".go", ".java", ".js", ".yml", ".ci/run"];

// Written in parts, so that this file passes.
static MARK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(concat!(r"\b(?:TO", "DO|FIX", "ME|X", r"XX)\b")).expect("a valid pattern"));

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts_ending(SOURCES) {
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(mark) = MARK.find(line) {
                let text = format!("{}: do it, or write an issue", mark.as_str());
                findings.push(Finding::at(path, number, text));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{Tree, check};

    #[test]
    fn finished_sources_pass() {
        let files =
            [("a.rs", "// mktemp XXXXXX, a todo list\n"), ("CONTRIBUTING.md", concat!("no TO", "DO\n"))];
        assert_eq!(check(&Tree::of(&files)), []);
    }

    #[test]
    fn each_mark_fails() {
        for text in [concat!("// TO", "DO: x"), concat!("/* FIX", "ME */"), concat!("# X", "XX")] {
            assert_eq!(check(&Tree::of(&[("run.sh", text)])).len(), 1, "{text}");
        }
    }
}
