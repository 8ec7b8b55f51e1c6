//! Invisible white space.

use super::rule::{Finding, Rule};
use super::tree::Tree;

pub(super) const RULE: Rule = Rule {
    name: "blanks",
    what: "texts have no tabs, no trailing spaces and one newline at their end",
    check,
};

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

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, text)| !is_free(path) && !text.is_empty()) {
        for (number, line) in (1..).zip(text.split('\n')) {
            if line.contains('\t') {
                findings.push(Finding::at(path, number, "tab: write spaces"));
            } else if line != line.trim_end() {
                findings.push(Finding::at(path, number, "trailing space: remove it"));
            }
        }
        if !text.ends_with('\n') || text.ends_with("\n\n") {
            findings.push(Finding::file(path, "end it with exactly one newline"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{Tree, check};

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
        assert_eq!(check(&Tree::of(&files)), []);
    }

    #[test]
    fn each_blank_fails() {
        for text in ["\tx\n", "x \n", "x\r\n", "x", "x\n\n"] {
            assert_eq!(check(&Tree::of(&[("a.md", text)])).len(), 1, "{text:?}");
        }
    }
}
