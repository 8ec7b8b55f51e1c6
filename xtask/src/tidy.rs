//! `cargo xtask tidy`: the rules of this repository that the compiler does not check, one row each.

mod arrows;
mod circles;
mod manifests;
mod marks;
mod modules;
mod pages;
mod private_paths;
mod sizes;
mod tree;
mod words;

use anyhow::{Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tollgate_testkit::workspace;
use tree::{Finding, Rule, Tree};

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
    Rule {
        name: "arrows",
        what: "each room uses the rooms that the table `| room | uses |` of ARCHITECTURE.md names, and no others",
        check: arrows::check,
    },
    Rule {
        name: "circles",
        what: "the modules of a crate, and of the Python package, use each other in one direction only",
        check: circles::check,
    },
    Rule {
        name: "inherited",
        what: "every member inherits version, edition, rust-version, license and publish from the workspace",
        check: manifests::inherited,
    },
    Rule {
        name: "packed",
        what: "what the code of a crate includes is in `include` of [workspace.package]",
        check: manifests::packed,
    },
    Rule {
        name: "lints",
        what: "the workspace denies printing, every member inherits its lints, and no library allows printing",
        check: manifests::lints,
    },
    Rule {
        name: "options",
        what: "the options of every command are in crates/tollgate: no library uses clap",
        check: manifests::options,
    },
    Rule {
        name: "rust-version",
        what: "the minimum Rust version is written once, in [workspace.package] of Cargo.toml",
        check: manifests::rust_version,
    },
    Rule {
        name: "rooms",
        what: "every room has its line in README.md and is named in ARCHITECTURE.md",
        check: pages::rooms,
    },
    Rule {
        name: "pages",
        what: "every probe has its `## <id>` in docs/reference/probes/<family>.md, which ends with `## What this hides`",
        check: pages::probe_pages,
    },
    Rule {
        name: "changelog",
        what: "CHANGELOG.md has a section for the workspace's version",
        check: manifests::changelog,
    },
    Rule {
        name: "readme-commands",
        what: "the shell blocks of README.md contain two commands: `cargo run --release` and `cargo xtask test`",
        check: pages::readme_commands,
    },
    Rule {
        name: "links",
        what: "every relative link of a Markdown file leads to a file or folder of the repository",
        check: pages::links,
    },
    Rule {
        name: "private-paths",
        what: "no file, including built images, contains a path of a developer's machine",
        check: private_paths::check,
    },
    Rule { name: "leftovers", what: "no source contains a mark of unfinished work", check: marks::leftovers },
    Rule { name: "long-files", what: "no file has more than 700 lines of Rust", check: sizes::long_files },
    Rule { name: "big-files", what: "no file is over 1 MiB", check: sizes::big_files },
    Rule {
        name: "words",
        what: "comments, messages and pages are in plain English, spelled as in America",
        check: words::check,
    },
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

/// Each room with the rooms that it uses; no entry where the manifests cannot be read.
pub(crate) fn uses(root: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut rooms = BTreeMap::<String, BTreeSet<String>>::new();
    for tree::Use { from, to, .. } in tree::uses(root).unwrap_or_default() {
        rooms.entry(from).or_default().insert(to);
    }
    rooms
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
