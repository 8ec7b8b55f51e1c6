//! What no line contains: marks of unfinished work and of unfinished merges, and invisible white space.

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

pub(super) fn merges(tree: &Tree) -> Vec<Finding> {
    let is_mark = |line: &str| ["<<<<<<< ", "||||||| ", ">>>>>>> "].iter().any(|mark| line.starts_with(mark));
    each_line(tree.texts(), |line| is_mark(line).then(|| format!("finish the merge: {line}")))
}

/// Recorded output, and formats that use tabs.
const FREE: &[&str] =
    &[".snap", ".stdout", ".stderr", ".trycmd", ".tsv", ".csv", ".go", ".mod", ".svg", "Makefile", ".mk"];

/// Folders of inputs that are wrong on purpose or recorded elsewhere.
const FREE_FOLDERS: &[&str] = &["data/", "fixtures/", "corpus/", "snapshots/"];

fn is_free(path: &str) -> bool {
    let inside = |folder: &&str| path.starts_with(*folder) || path.contains(&format!("/{folder}"));
    let recorded = path.contains("/tests/") && path.ends_with(".txt");
    recorded || FREE.iter().any(|end| path.ends_with(end)) || FREE_FOLDERS.iter().any(inside)
}

pub(super) fn blanks(tree: &Tree) -> Vec<Finding> {
    let texts = || tree.texts().filter(|(path, text)| !is_free(path) && !text.is_empty());
    let mut findings = each_line(texts(), |line| match line {
        line if line.contains('\t') => Some("tab: write spaces".to_owned()),
        line if line != line.trim_end() => Some("trailing space: remove it".to_owned()),
        _ => None,
    });
    let ends_wrong = |text: &str| !text.ends_with('\n') || text.ends_with("\n\n");
    let wrong = texts().filter(|(_, text)| ends_wrong(text));
    findings.extend(wrong.map(|(path, _)| Finding::file(path, "end it with exactly one newline")));
    findings
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
    use super::{Tree, blanks, leftovers, merges};

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

    #[test]
    fn comparisons_and_rules_pass() {
        assert_eq!(merges(&Tree::of(&[("a.md", "Title\n=======\n\n    <<<<<<< quoted\n")])), []);
    }

    #[test]
    fn marks_of_a_merge_fail() {
        let text = "<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> branch\n";
        let lines: Vec<_> = merges(&Tree::of(&[("a.md", text)])).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [Some(1), Some(5)]);
    }

    #[test]
    fn clean_texts_binaries_and_free_files_pass() {
        let files = [
            ("a.rs", "fn a() {\n}\n"),
            ("empty", ""),
            ("image.bin", "\0 \t"),
            ("runtimes/go/main.go", "\tx\n"),
            ("crates/x/tests/data/cut.json", "{"),
            ("crates/x/tests/hosts/cpuinfo.txt", "hart\t: 0\n"),
        ];
        assert_eq!(blanks(&Tree::of(&files)), []);
    }

    #[test]
    fn each_blank_fails() {
        for text in ["\tx\n", "x \n", "x\r\n", "x", "x\n\n"] {
            assert_eq!(blanks(&Tree::of(&[("a.md", text)])).len(), 1, "{text:?}");
        }
    }
}
