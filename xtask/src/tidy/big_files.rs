//! No file is large, so that clones are small.

use super::rule::{Finding, Rule};
use super::tree::Tree;

pub(super) const RULE: Rule = Rule { name: "big-files", what: "no file is over 1 MiB", check };

const BYTES: usize = 1 << 20;

fn check(tree: &Tree) -> Vec<Finding> {
    tree.files
        .iter()
        .filter(|(_, bytes)| bytes.len() > BYTES)
        .map(|(path, bytes)| {
            Finding::file(path, format!("{} bytes: make it smaller, or build it", bytes.len()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{BYTES, Tree, check};

    #[test]
    fn the_limit_passes_and_one_byte_more_fails() {
        assert_eq!(check(&Tree::of(&[("a.bin", &"x".repeat(BYTES))])), []);
        assert_eq!(check(&Tree::of(&[("a.bin", &"x".repeat(BYTES + 1))])).len(), 1);
    }
}
