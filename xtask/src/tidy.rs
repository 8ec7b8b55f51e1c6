//! `cargo xtask tidy`: rules of this repository that no compiler checks. One file for each rule.

mod arrows;
mod big_files;
mod blanks;
mod changelog;
mod inherited;
mod leftovers;
mod links;
mod lints;
mod long_files;
mod merges;
mod pages;
mod private_paths;
mod readme_commands;
mod rooms;
mod rust_version;
mod tree;

use crate::workspace;
use anyhow::{Result, bail};
use std::path::Path;
use tree::Tree;

/// Checks the rules of this repository that no compiler checks.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// List the rules instead
    #[arg(long)]
    list: bool,
}

/// One rule: a pure function of the tree.
struct Rule {
    name: &'static str,
    what: &'static str,
    check: fn(&Tree) -> Vec<Finding>,
}

/// Where a rule is broken, and what to do.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    path: String,
    line: Option<usize>,
    text: String,
}

impl Finding {
    fn at(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: Some(line), text: text.into() }
    }

    fn file(path: &str, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, text: text.into() }
    }
}

/// Every rule.
static RULES: &[Rule] = &[
    arrows::RULE,
    inherited::RULE,
    lints::RULE,
    rust_version::RULE,
    rooms::RULE,
    pages::RULE,
    changelog::RULE,
    readme_commands::RULE,
    links::RULE,
    private_paths::RULE,
    leftovers::RULE,
    merges::RULE,
    blanks::RULE,
    long_files::RULE,
    big_files::RULE,
];

impl Args {
    /// Prints each finding.
    ///
    /// # Errors
    /// When there is any.
    pub(crate) fn run(&self) -> Result<()> {
        if self.list {
            for rule in RULES {
                println!("{:<16} {}", rule.name, rule.what);
            }
            return Ok(());
        }
        match check(&workspace::root()?)? {
            0 => Ok(()),
            found => bail!("{found} findings, listed above"),
        }
    }
}

/// Prints each finding and counts them.
pub(crate) fn check(root: &Path) -> Result<usize> {
    let tree = Tree::load(root)?;
    let mut found = 0;
    for rule in RULES {
        for Finding { path, line, text } in (rule.check)(&tree) {
            found += 1;
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            println!("{path}{line}: {text} ({})", rule.name);
        }
    }
    println!("tidy: {} rules, {} files, {found} findings", RULES.len(), tree.files.len());
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::RULES;

    #[test]
    fn each_rule_has_its_own_name_and_a_sentence() {
        for (index, rule) in RULES.iter().enumerate() {
            assert!(!RULES[..index].iter().any(|other| other.name == rule.name), "{}", rule.name);
            assert!(rule.what.len() > 10, "{}", rule.name);
        }
    }
}
