//! README.md and ARCHITECTURE.md describe each room.

use super::rule::Finding;
use super::tree::Tree;
use regex::Regex;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
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

#[cfg(test)]
mod tests {
    use super::{Tree, check};

    #[test]
    fn a_line_for_each_room_passes() {
        for line in [
            "| `docs` | one page per boundary |",
            "docs/   one page per boundary",
            "- [docs](docs) has pages",
        ] {
            let files = [("docs/null.md", ""), ("README.md", line), ("ARCHITECTURE.md", "`docs/`")];
            assert_eq!(check(&Tree::of(&files)), [], "{line}");
        }
    }

    #[test]
    fn a_missing_or_empty_line_fails_in_each_file() {
        for line in ["", "see docs/null.md for one page", "docs"] {
            let files = [("docs/null.md", ""), ("README.md", line), ("ARCHITECTURE.md", "")];
            assert_eq!(check(&Tree::of(&files)).len(), 2, "{line}");
        }
        assert_eq!(check(&Tree::of(&[("crates/record/src/lib.rs", "")])).len(), 2);
    }
}
