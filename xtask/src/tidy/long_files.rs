//! A file contains one topic.

use super::rule::{Finding, Rule};
use super::tree::Tree;

pub(super) const RULE: Rule =
    Rule { name: "long-files", what: "no file has more than 700 lines of Rust", check };

const LINES: usize = 700;

fn check(tree: &Tree) -> Vec<Finding> {
    tree.texts_ending(&[".rs"])
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > LINES)
        .map(|(path, lines)| Finding::file(path, format!("{lines} lines: split it by topic")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{LINES, Tree, check};

    #[test]
    fn the_limit_passes_and_one_line_more_fails() {
        assert_eq!(check(&Tree::of(&[("a.rs", &"x\n".repeat(LINES))])), []);
        assert_eq!(check(&Tree::of(&[("a.rs", &"x\n".repeat(LINES + 1))])).len(), 1);
        assert_eq!(check(&Tree::of(&[("a.txt", &"x\n".repeat(LINES + 1))])), []);
    }
}
