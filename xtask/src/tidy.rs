//! `cargo xtask tidy`: the rules of this repository that the compiler does not check. One file for each rule.

mod arrows;
mod big_files;
mod blanks;
mod changelog;
mod circles;
mod inherited;
mod leftovers;
mod links;
mod lints;
mod long_files;
mod merges;
mod modules;
mod pages;
mod private_paths;
mod readme_commands;
mod rooms;
mod rule;
mod rust_version;
mod sizes;
mod tree;
mod words;

use anyhow::{Result, ensure};
use rule::{Finding, Rule};
use std::path::Path;
use tollgate_testkit::workspace;
use tree::Tree;

/// Check the rules of this repository that the compiler does not check
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print the rules and exit
    #[arg(long)]
    list: bool,
    /// Check this rule only
    #[arg(long, value_name = "RULE", value_parser = RULES.iter().map(|rule| rule.name).collect::<Vec<_>>())]
    only: Option<String>,
}

/// Every rule.
static RULES: &[Rule] = &[
    arrows::RULE,
    circles::RULE,
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
    sizes::RULE,
    big_files::RULE,
    words::RULE,
];

impl Args {
    /// Prints each finding.
    ///
    /// # Errors
    /// When there is one.
    pub(crate) fn run(&self) -> Result<()> {
        if self.list {
            for rule in RULES {
                println!("{:<16} {}", rule.name, rule.what);
            }
            return Ok(());
        }
        let only = self.only.as_deref();
        run_rules(&workspace::root()?, |rule| only.is_none_or(|only| only == rule.name))
    }
}

/// Checks every rule.
///
/// # Errors
/// When one has a finding; all are printed.
pub(crate) fn check(root: &Path) -> Result<()> {
    run_rules(root, |_| true)
}

/// Prints the findings of the rules that are asked for.
fn run_rules(root: &Path, is_asked_for: impl Fn(&Rule) -> bool) -> Result<()> {
    let tree = Tree::load(root)?;
    let rules: Vec<&Rule> = RULES.iter().filter(|rule| is_asked_for(rule)).collect();
    let mut found = 0;
    for rule in &rules {
        for Finding { path, line, text } in (rule.check)(&tree) {
            found += 1;
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            println!("{path}{line}: {text} ({})", rule.name);
        }
    }
    println!("tidy: {} rules, {} files, {found} findings", rules.len(), tree.files.len());
    ensure!(found == 0, "{found} findings, listed above");
    Ok(())
}
