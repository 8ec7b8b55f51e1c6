//! The change log describes the version.

use super::rule::{Finding, Rule};
use super::tree::Tree;

pub(super) const RULE: Rule =
    Rule { name: "changelog", what: "CHANGELOG.md has a section for the workspace's version", check };

fn check(tree: &Tree) -> Vec<Finding> {
    let Some(version) = tree.workspace(&["package", "version"]) else {
        return vec![Finding::file("Cargo.toml", "write `version` in [workspace.package]")];
    };
    let is_entry = |line: &str| {
        let title = line.strip_prefix("## ").unwrap_or_default();
        title.split_whitespace().next().is_some_and(|word| word.trim_matches(['[', ']']) == version)
    };
    if tree.text("CHANGELOG.md").is_some_and(|text| text.lines().any(is_entry)) {
        return Vec::new();
    }
    vec![Finding::file("CHANGELOG.md", format!("write the section `## {version}`"))]
}

#[cfg(test)]
mod tests {
    use super::{Tree, check};

    const ROOT: (&str, &str) = ("Cargo.toml", "[workspace.package]\nversion = \"0.2.0\"\n");

    #[test]
    fn a_section_for_the_version_passes() {
        for line in ["## 0.2.0", "## [0.2.0] - unreleased"] {
            assert_eq!(check(&Tree::of(&[ROOT, ("CHANGELOG.md", line)])), [], "{line}");
        }
    }

    #[test]
    fn another_version_fails() {
        for line in ["## 0.1.0", "## 0.2.01", "0.2.0", ""] {
            assert_eq!(check(&Tree::of(&[ROOT, ("CHANGELOG.md", line)])).len(), 1, "{line}");
        }
        assert_eq!(check(&Tree::of(&[ROOT])).len(), 1);
    }
}
