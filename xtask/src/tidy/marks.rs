//! Marks of unfinished work.

use super::tree::{Finding, Tree};
use regex::Regex;
use std::sync::LazyLock;

const SOURCES: &[&str] =
    &[".rs", ".c", ".h", ".S", ".s", ".ld", ".toml", ".sh", ".py", ".go", ".java", ".js", ".yml", ".ci/run"];

// Written in parts, so that this file passes.
static MARK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(concat!(r"\b(?:TO", "DO|FIX", "ME|X", r"XX)\b")).expect("a valid pattern"));

/// Unfinished work is in issues, not in the sources.
pub(super) fn leftovers(tree: &Tree) -> Vec<Finding> {
    let todo = |line: &str| Some(format!("{}: do it, or write an issue", MARK.find(line)?.as_str()));
    each_line(tree.texts_ending(SOURCES), todo)
}

/// A finding for each line of these texts about which `wrong` has something to say.
fn each_line<'a>(
    texts: impl Iterator<Item = (&'a str, &'a str)>,
    wrong: impl Fn(&str) -> Option<String>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in texts {
        let lines = (1..).zip(text.split('\n'));
        findings.extend(lines.filter_map(|(number, line)| Some(Finding::at(path, number, wrong(line)?))));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{Tree, leftovers};

    #[test]
    fn finished_sources_pass() {
        let files =
            [("a.rs", "// mktemp XXXXXX, a todo list\n"), ("CONTRIBUTING.md", concat!("no TO", "DO\n"))];
        assert_eq!(leftovers(&Tree::of(&files)), []);
    }

    #[test]
    fn each_mark_fails() {
        for text in [concat!("// TO", "DO: x"), concat!("/* FIX", "ME */"), concat!("# X", "XX")] {
            assert_eq!(leftovers(&Tree::of(&[("run.sh", text)])).len(), 1, "{text}");
        }
    }
}
