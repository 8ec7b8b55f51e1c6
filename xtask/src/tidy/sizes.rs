//! The command line stays glue.

use super::rule::{Finding, Rule};
use super::tree::Tree;

pub(super) const RULE: Rule = Rule {
    name: "sizes",
    what: "crates/tollgate has less than 3,500 lines of Rust outside of its tests",
    check,
};

/// A folder and its limit of Rust lines outside of `tests/`.
const LIMITS: [(&str, usize); 1] = [("crates/tollgate", 3_500)];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, limit) in LIMITS {
        let is_counted = |path: &str| {
            path.strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/') && !rest.starts_with("/tests/"))
        };
        let files = tree.texts_ending(&[".rs"]).filter(|(path, _)| is_counted(path));
        let lines: usize = files.map(|(_, text)| text.lines().count()).sum();
        if lines >= limit {
            let text = format!(
                "{lines} lines of Rust outside of tests/, the limit is {limit}: move logic to a library"
            );
            findings.push(Finding::file(folder, text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{LIMITS, Tree, check};

    #[test]
    fn the_limit_fails_and_one_line_less_passes() {
        let [(folder, limit)] = LIMITS;
        let source = format!("{folder}/src/main.rs");
        let tests = format!("{folder}/tests/e2e.rs");
        let found = |lines: usize| {
            let text = "x\n".repeat(lines);
            check(&Tree::of(&[(&source, &text), (&tests, &text), ("crates/tollgate-x/src/lib.rs", &text)]))
                .len()
        };
        assert_eq!((found(limit - 1), found(limit)), (0, 1));
    }
}
