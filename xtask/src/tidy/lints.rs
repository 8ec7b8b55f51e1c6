//! The lints of the workspace, which keep libraries from printing.

use super::rule::{Finding, Rule};
use super::tree::Tree;
use regex::Regex;
use std::sync::LazyLock;

pub(super) const RULE: Rule = Rule {
    name: "lints",
    what: "the workspace denies printing, every member inherits its lints, and no library allows printing",
    check,
};

static ALLOWED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?:allow|expect|warn)\b.*clippy::print_std").expect("a valid pattern"));

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for lint in ["print_stdout", "print_stderr"] {
        if tree.workspace(&["lints", "clippy", lint]).as_deref() != Some("deny") {
            let text = format!("write `{lint} = \"deny\"` in [workspace.lints.clippy]");
            findings.push(Finding::file("Cargo.toml", text));
        }
    }
    for (path, manifest) in tree.members() {
        let inherits = manifest.get("lints").and_then(|lints| lints.get("workspace"));
        if inherits.and_then(toml::Value::as_bool) != Some(true) {
            findings.push(Finding::file(path, "write `workspace = true` in [lints]"));
        }
    }
    for (path, text) in tree.texts_ending(&[".rs"]) {
        if path.starts_with("crates/") && path.contains("/src/") && !path.starts_with("crates/tollgate/") {
            for (number, line) in (1..).zip(text.lines()) {
                if ALLOWED.is_match(line) {
                    findings.push(Finding::at(path, number, "a library must not print: return the text"));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{Tree, check};

    const ROOT: (&str, &str) =
        ("Cargo.toml", "[workspace.lints.clippy]\nprint_stdout = \"deny\"\nprint_stderr = \"deny\"\n");
    const MEMBER: (&str, &str) = ("crates/record/Cargo.toml", "[lints]\nworkspace = true\n");
    const ALLOW: &str = "#![allow(clippy::print_stdout)]\n";

    #[test]
    fn inherited_lints_pass_and_the_command_line_and_tests_may_print() {
        for path in ["crates/tollgate/src/main.rs", "crates/record/tests/all.rs"] {
            assert_eq!(check(&Tree::of(&[ROOT, MEMBER, (path, ALLOW)])), [], "{path}");
        }
    }

    #[test]
    fn a_member_without_lints_fails() {
        assert_eq!(check(&Tree::of(&[ROOT, ("crates/record/Cargo.toml", "[package]\n")])).len(), 1);
    }

    #[test]
    fn a_workspace_that_does_not_deny_fails() {
        assert_eq!(
            check(&Tree::of(&[("Cargo.toml", "[workspace.lints.clippy]\nprint_stdout = \"warn\"\n")])).len(),
            2
        );
    }

    #[test]
    fn a_library_that_prints_fails() {
        let findings = check(&Tree::of(&[ROOT, MEMBER, ("crates/record/src/lib.rs", ALLOW)]));
        assert_eq!((findings.len(), findings[0].line), (1, Some(1)));
    }
}
