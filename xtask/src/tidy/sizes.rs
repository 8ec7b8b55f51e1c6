//! Files and folders stay small: for clones, for readers, and so that the command line stays glue.

use super::tree::{Finding, Tree};

const MOST_BYTES: usize = 1 << 20;

const MOST_LINES: usize = 700;

/// A folder and its limit of Rust lines outside of `tests/`.
const LIMITS: [(&str, usize); 1] = [("crates/tollgate", 3_500)];

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

pub(super) fn glue(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, limit) in LIMITS {
        let is_counted = |path: &str| {
            path.strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/') && !rest.starts_with("/tests/"))
        };
        let lines: usize = lines(tree).filter(|(path, _)| is_counted(path)).map(|(_, lines)| lines).sum();
        if lines >= limit {
            let text = format!(
                "{lines} lines of Rust outside of tests/, the limit is {limit}: move logic to a library"
            );
            findings.push(Finding::file(folder, text));
        }
    }
    findings
}

/// Each Rust file with its number of lines.
fn lines(tree: &Tree) -> impl Iterator<Item = (&str, usize)> {
    tree.texts_ending(&[".rs"]).map(|(path, text)| (path, text.lines().count()))
}

#[cfg(test)]
mod tests {
    use super::{LIMITS, MOST_BYTES, MOST_LINES, Tree, big_files, glue, long_files};

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

    #[test]
    fn the_limit_fails_and_one_line_less_passes() {
        let [(folder, limit)] = LIMITS;
        let source = format!("{folder}/src/main.rs");
        let tests = format!("{folder}/tests/e2e.rs");
        let found = |lines: usize| {
            let text = "x\n".repeat(lines);
            glue(&Tree::of(&[(&source, &text), (&tests, &text), ("crates/tollgate-x/src/lib.rs", &text)]))
                .len()
        };
        assert_eq!((found(limit - 1), found(limit)), (0, 1));
    }
}
