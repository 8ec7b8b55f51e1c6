//! What a rule is, and what it finds.

use super::tree::Tree;

/// One rule: a pure function of the tree.
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) check: fn(&Tree) -> Vec<Finding>,
}

/// Where a rule is broken, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) path: String,
    pub(super) line: Option<usize>,
    pub(super) text: String,
}

impl Finding {
    pub(super) fn at(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: Some(line), text: text.into() }
    }

    pub(super) fn file(path: &str, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, text: text.into() }
    }
}
