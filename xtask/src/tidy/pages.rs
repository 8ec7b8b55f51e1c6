//! Each probe has a section in the page of its family, and each such page says what it hides.

use super::rule::Finding;
use super::tree::Tree;
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

static ID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"\bid: "([a-z0-9_/-]+)""#).expect("a valid pattern"));

/// The ids in the sources of the static list.
fn probes(tree: &Tree) -> BTreeSet<&str> {
    tree.texts_ending(&[".rs"])
        .filter(|(path, _)| path.starts_with("crates/boundary/src/"))
        .flat_map(|(_, text)| ID.captures_iter(text).filter_map(|found| found.get(1)))
        .map(|id| id.as_str())
        .collect()
}

fn family(id: &str) -> &str {
    id.split('/').next().unwrap_or(id)
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let probes = probes(tree);
    for family in probes.iter().map(|id| family(id)).collect::<BTreeSet<_>>() {
        let page = format!("docs/reference/probes/{family}.md");
        let headings = headings(tree.text(&page).unwrap_or_default());
        for id in probes.iter().filter(|id| self::family(id) == family) {
            if !headings.iter().any(|(_, heading)| heading == id) {
                findings.push(Finding::file(&page, format!("write the section `## {id}`")));
            }
        }
        for (line, heading) in &headings {
            if self::family(heading) == family && !probes.contains(heading.as_str()) {
                findings.push(Finding::at(
                    &page,
                    *line,
                    format!("there is no probe {heading}: remove its section"),
                ));
            }
        }
        if headings.last().is_none_or(|(_, heading)| heading != "What this hides") {
            findings.push(Finding::file(&page, "end it with the section `## What this hides`"));
        }
    }
    findings
}

/// The headings of the second level with their lines, code marks removed.
fn headings(page: &str) -> Vec<(usize, String)> {
    (1..)
        .zip(page.lines())
        .filter_map(|(number, line)| Some((number, line.strip_prefix("## ")?.trim().replace('`', ""))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Tree, check};

    const PROBE: (&str, &str) = ("crates/boundary/src/pipe.rs", "Meta {\n    id: \"thread/pipe\",\n}\n");
    const NULL: (&str, &str) = ("crates/boundary/src/null.rs", "    id: \"null\",\n");

    #[test]
    fn a_page_with_each_section_and_what_it_hides_passes() {
        let page = "# Threads\n\n## `thread/pipe`\n\nWords.\n\n## What this hides\n\nMore.\n";
        let null = "## null\n\n## What this hides\n";
        assert_eq!(
            check(&Tree::of(&[
                PROBE,
                NULL,
                ("docs/reference/probes/thread.md", page),
                ("docs/reference/probes/null.md", null)
            ])),
            []
        );
    }

    #[test]
    fn each_missing_section_is_a_finding() {
        for (page, found) in [
            ("", 2),
            ("## thread/pipe\n", 1),
            ("## What this hides\n", 1),
            ("## What this hides\n\n## thread/pipe\n", 1),
            ("## thread/pipe\n\n## thread/gone\n\n## What this hides\n", 1),
        ] {
            assert_eq!(
                check(&Tree::of(&[PROBE, ("docs/reference/probes/thread.md", page)])).len(),
                found,
                "{page}"
            );
        }
        assert_eq!(check(&Tree::of(&[PROBE])).len(), 2);
    }
}
