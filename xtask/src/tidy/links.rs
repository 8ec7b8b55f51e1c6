//! Links between files of the repository work.

use super::rule::Finding;
use super::tree::Tree;
use regex::Regex;
use std::sync::LazyLock;

static LINK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"\]\(\s*<?([^)<>\s]+)>?(?:\s+"[^"]*")?\s*\)|^\s*\[[^\]]+\]:\s*(\S+)"#)
        .expect("a valid pattern")
});
static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"`[^`]*`").expect("a valid pattern"));

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts_ending(&[".md"]) {
        let mut fenced = false;
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            }
            if fenced {
                continue;
            }
            // A link in code is not a link, but the text of a link may be code.
            let line = CODE.replace_all(line, "code");
            for link in LINK.captures_iter(&line).filter_map(|found| found.get(1).or(found.get(2))) {
                if !target_exists(tree, path, link.as_str()) {
                    findings.push(Finding::at(path, number, format!("{} does not exist", link.as_str())));
                }
            }
        }
    }
    findings
}

fn target_exists(tree: &Tree, page: &str, link: &str) -> bool {
    let target = link.split(['#', '?']).next().unwrap_or_default();
    if link.contains("://") || link.starts_with("mailto:") || target.is_empty() {
        return true;
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    if target.starts_with('/') {
        parts.clear();
    }
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return false,
            ".." => {}
            name => parts.push(name),
        }
    }
    tree.exists(&parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{Tree, check};

    fn found(page: &str) -> usize {
        check(&Tree::of(&[("README.md", ""), ("docs/null.md", ""), ("docs/page.md", page)])).len()
    }

    #[test]
    fn links_to_existing_files_pass() {
        for page in [
            "[up](../README.md)",
            "[`code`](null.md#what) and [root](..)",
            "[web](https://example.org/x.md) [mail](mailto:a@example.org) [here](#there)",
            "[reference]: null.md",
            "```\n[gone](gone.md)\n```",
            "`[gone](gone.md)`",
            "a[0](1) is not in `x[0](gone)`".trim_start_matches("a[0](1) "),
        ] {
            assert_eq!(found(page), 0, "{page}");
        }
    }

    #[test]
    fn links_to_missing_files_fail() {
        for page in ["[x](gone.md)", "[x](../../README.md)", "[x]: gone.md", "[x](README.md \"title\")"] {
            assert_eq!(found(page), 1, "{page}");
        }
    }
}
