//! What the pages say: the rooms, the commands of a newcomer, the probes, and links that lead to a file.

use super::tree::{Finding, Tree};
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

pub(super) fn rooms(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for room in tree.rooms() {
        let name = Regex::new(&format!(r"(?:^|[^\w/-]){}/?(?:[^\w/-]|$)", regex::escape(&room)));
        let name = name.expect("a valid pattern");
        for (path, words) in [("README.md", 3), ("ARCHITECTURE.md", 1)] {
            let named = |line: &str| name.is_match(line) && line.split_whitespace().count() >= words;
            if !tree.text(path).is_some_and(|text| text.lines().any(named)) {
                findings.push(Finding::file(path, format!("describe {room} in a line")));
            }
        }
    }
    findings
}

/// What installs the program, what runs it from a clone, and what tests it.
const COMMANDS: [&str; 3] = ["pip install tollgate-perf", "cargo run --release", "cargo xtask test"];

pub(super) fn readme_commands(tree: &Tree) -> Vec<Finding> {
    let commands = commands(tree.text("README.md").unwrap_or_default());
    if commands == COMMANDS {
        return Vec::new();
    }
    let found = if commands.is_empty() { "nothing".to_owned() } else { commands.join("; ") };
    let text = format!("its shell blocks must contain {}, and contain {found}", COMMANDS.join("; "));
    vec![Finding::file("README.md", text)]
}

/// The lines of blocks with the language `sh`, `bash` or `shell`, without prompt and comment. Other blocks show output.
fn commands(page: &str) -> Vec<&str> {
    let mut commands = Vec::new();
    let mut block: Option<&str> = None;
    for line in page.lines().map(str::trim) {
        match (line.strip_prefix("```"), block) {
            (Some(_), Some(_)) => block = None,
            (Some(mark), None) => block = Some(mark.trim()),
            (None, Some("sh" | "bash" | "shell")) => {
                let command = line.split(" #").next().unwrap_or(line).trim_start_matches("$ ").trim();
                if !command.is_empty() && !command.starts_with('#') {
                    commands.push(command);
                }
            }
            (None, _) => {}
        }
    }
    commands
}

static ID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?:\bid: |::(?:here|apart|sibling|row)\(\s*)"([a-z0-9_/-]+)""#).expect("a valid pattern")
});

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

pub(super) fn probe_pages(tree: &Tree) -> Vec<Finding> {
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

static LINK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"\]\(\s*<?([^)<>\s]+)>?(?:\s+"[^"]*")?\s*\)|^\s*\[[^\]]+\]:\s*(\S+)"#)
        .expect("a valid pattern")
});
static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"`[^`]*`").expect("a valid pattern"));

pub(super) fn links(tree: &Tree) -> Vec<Finding> {
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
    use super::{Tree, links, probe_pages, readme_commands, rooms};

    #[test]
    fn a_line_for_each_room_passes() {
        for line in [
            "| `docs` | one page per boundary |",
            "docs/   one page per boundary",
            "- [docs](docs) has pages",
        ] {
            let files = [("docs/null.md", ""), ("README.md", line), ("ARCHITECTURE.md", "`docs/`")];
            assert_eq!(rooms(&Tree::of(&files)), [], "{line}");
        }
    }

    #[test]
    fn a_missing_or_empty_line_fails_in_each_file() {
        for line in ["", "see docs/null.md for one page", "docs"] {
            let files = [("docs/null.md", ""), ("README.md", line), ("ARCHITECTURE.md", "")];
            assert_eq!(rooms(&Tree::of(&files)).len(), 2, "{line}");
        }
        assert_eq!(rooms(&Tree::of(&[("crates/record/src/lib.rs", "")])).len(), 2);
    }

    #[test]
    fn the_three_commands_pass() {
        for readme in [
            "```sh\npip install tollgate-perf\ncargo run --release    # the ladder\ncargo xtask test\n```\n",
            "```sh\npip install tollgate-perf\n$ cargo run --release\n```\n```\n$ tollgate list\n```\n```bash\n# checks\ncargo xtask test\n```\n",
        ] {
            assert_eq!(readme_commands(&Tree::of(&[("README.md", readme)])), [], "{readme}");
        }
    }

    #[test]
    fn one_more_or_one_less_fails() {
        for readme in [
            "",
            "```sh\npip install tollgate-perf\ncargo run --release\n```\n",
            "```\npip install tollgate-perf\ncargo run --release\ncargo xtask test\n```\n",
            "```sh\npip install tollgate-perf\nmake\ncargo run --release\ncargo xtask test\n```\n",
        ] {
            assert_eq!(readme_commands(&Tree::of(&[("README.md", readme)])).len(), 1, "{readme}");
        }
    }

    const PROBE: (&str, &str) = ("crates/boundary/src/pipe.rs", "Meta {\n    id: \"thread/pipe\",\n}\n");
    const NULL: (&str, &str) = ("crates/boundary/src/null.rs", "    id: \"null\",\n");

    #[test]
    fn a_page_with_each_section_and_what_it_hides_passes() {
        let page = "# Threads\n\n## `thread/pipe`\n\nWords.\n\n## What this hides\n\nMore.\n";
        let null = "## null\n\n## What this hides\n";
        assert_eq!(
            probe_pages(&Tree::of(&[
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
                probe_pages(&Tree::of(&[PROBE, ("docs/reference/probes/thread.md", page)])).len(),
                found,
                "{page}"
            );
        }
        assert_eq!(probe_pages(&Tree::of(&[PROBE])).len(), 2);
        let called = ("crates/boundary/src/wake.rs", "&Wake::<Futex>::here(\n    \"wake/futex\", \"\")");
        assert_eq!(probe_pages(&Tree::of(&[called])).len(), 2, "an id that is an argument counts, too");
    }

    fn found(page: &str) -> usize {
        links(&Tree::of(&[("README.md", ""), ("docs/null.md", ""), ("docs/page.md", page)])).len()
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
