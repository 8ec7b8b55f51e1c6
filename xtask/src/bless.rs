//! `cargo xtask bless`: writes what is recorded in the tree, where tests compare it with what the program gives.

use anyhow::{Result, bail};
use clap::builder::PossibleValuesParser;
use tollgate_testkit::{BLESS, workspace};

/// Write recorded files and tables anew, after you have looked at why they differ; then look at the change with git
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to write
    #[arg(value_name = "NAME", required = true, value_parser = PossibleValuesParser::new(names()))]
    names: Vec<String>,
}

/// What is recorded, and the cargo command that compares it.
static RECORDED: &[(&str, &[&str])] = &[
    ("architectures", &["xtask", "cross"]),
    ("book", &["test", "--package", "tollgate", "--test", "book"]),
    ("doctor", &["test", "--package", "tollgate-measure", "--lib", "doctor"]),
    ("help", &["test", "--package", "tollgate", "--test", "e2e", "help::"]),
    ("machines", &["xtask", "vm"]),
    ("page", &["test", "--package", "tollgate-page", "--test", "all", "fixtures::"]),
    ("places", &["test", "--package", "tollgate", "--test", "e2e", "sandboxes::"]),
    ("rtl", &["test", "--package", "tollgate-lab", "--test", "rtl"]),
    ("schema", &["test", "--package", "tollgate-record", "--test", "all", "schema::"]),
    // From the schema, so after it.
    ("python", &["xtask", "python", "drifted"]),
    ("screens", &["test", "--package", "tollgate-report", "--no-fail-fast"]),
    ("witnesses", &["test", "--package", "tollgate-lab", "--test", "witness"]),
];

fn names() -> impl Iterator<Item = &'static str> {
    RECORDED.iter().map(|(name, _)| *name)
}

impl Args {
    /// Runs the command of each name.
    ///
    /// # Errors
    /// When one fails for another reason than a difference.
    pub(crate) fn run(&self) -> Result<()> {
        let root = workspace::root()?;
        for (name, command) in RECORDED.iter().filter(|(name, _)| self.names.iter().any(|it| it == name)) {
            let mut cargo = workspace::cargo(&root);
            // The second variable is that of insta.
            cargo.args(*command).env(BLESS, "1").env("INSTA_UPDATE", "always");
            if !cargo.status()?.success() {
                bail!("{name}: cargo {} failed, see above", command.join(" "));
            }
        }
        Ok(())
    }
}
