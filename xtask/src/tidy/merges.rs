//! Every merge is finished.

use super::rule::{Finding, Rule};
use super::tree::Tree;

pub(super) const RULE: Rule =
    Rule { name: "merges", what: "no text contains the marks of an unfinished merge", check };

fn check(tree: &Tree) -> Vec<Finding> {
    let is_mark = |line: &str| ["<<<<<<< ", "||||||| ", ">>>>>>> "].iter().any(|mark| line.starts_with(mark));
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| is_mark(line)) {
            findings.push(Finding::at(path, number, format!("finish the merge: {line}")));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{Tree, check};

    #[test]
    fn comparisons_and_rules_pass() {
        assert_eq!(check(&Tree::of(&[("a.md", "Title\n=======\n\n    <<<<<<< quoted\n")])), []);
    }

    #[test]
    fn marks_of_a_merge_fail() {
        let text = "<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> branch\n";
        let lines: Vec<_> = check(&Tree::of(&[("a.md", text)])).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [Some(1), Some(5)]);
    }
}
