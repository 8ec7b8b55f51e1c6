//! Files stay small, for clones and for readers.

use super::tree::{Finding, Tree};

const MOST_BYTES: usize = 1 << 20;

const MOST_LINES: usize = 700;

pub(super) fn big_files(tree: &Tree) -> Vec<Finding> {
    let sizes = tree.files.iter().map(|(path, bytes)| (path, bytes.len()));
    let big = sizes.filter(|(_, bytes)| *bytes > MOST_BYTES);
    big.map(|(path, bytes)| Finding::file(path, format!("{bytes} bytes: make it smaller, or build it")))
        .collect()
}

pub(super) fn long_files(tree: &Tree) -> Vec<Finding> {
    let long = lines(tree).filter(|(_, lines)| *lines > MOST_LINES);
    long.map(|(path, lines)| Finding::file(path, format!("{lines} lines: split it by topic"))).collect()
}

/// Each Rust file with its number of lines.
fn lines(tree: &Tree) -> impl Iterator<Item = (&str, usize)> {
    tree.texts_ending(&[".rs"]).map(|(path, text)| (path, text.lines().count()))
}

#[cfg(test)]
mod tests {
    use super::{MOST_BYTES, MOST_LINES, Tree, big_files, long_files};

    #[test]
    fn the_limit_passes_and_one_byte_more_fails() {
        assert_eq!(big_files(&Tree::of(&[("a.bin", &"x".repeat(MOST_BYTES))])), []);
        assert_eq!(big_files(&Tree::of(&[("a.bin", &"x".repeat(MOST_BYTES + 1))])).len(), 1);
    }

    #[test]
    fn the_limit_passes_and_one_line_more_fails() {
        assert_eq!(long_files(&Tree::of(&[("a.rs", &"x\n".repeat(MOST_LINES))])), []);
        assert_eq!(long_files(&Tree::of(&[("a.rs", &"x\n".repeat(MOST_LINES + 1))])).len(), 1);
        assert_eq!(long_files(&Tree::of(&[("a.txt", &"x\n".repeat(MOST_LINES + 1))])), []);
    }
}
