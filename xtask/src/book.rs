//! `cargo xtask book`: the pages of `docs` as an HTML book, made by mdBook.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate_testkit::{need, workspace};

/// Make the HTML book from the pages in docs
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where it is written
    #[arg(long, value_name = "DIR", default_value = "target/book")]
    to: PathBuf,
}

impl Args {
    /// Runs mdBook.
    ///
    /// # Errors
    /// Those of [`build`].
    pub(crate) fn run(&self) -> Result<()> {
        let root = workspace::root()?;
        build(&root, &self.to)?;
        println!("{}", root.join(&self.to).join("index.html").display());
        Ok(())
    }
}

/// Makes the book in a folder.
///
/// # Errors
/// When mdBook is missing or finds something wrong, warnings included.
pub(crate) fn build(root: &Path, to: &Path) -> Result<()> {
    let mut command = Command::new(need("mdbook", "cargo install mdbook --locked")?);
    command.arg("build").arg(root.join("docs")).arg("--dest-dir").arg(root.join(to));
    let output = command.output().context("mdbook could not be started")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || said.contains("WARN") || said.contains("ERROR") {
        bail!("mdbook build docs: {}\n{said}", output.status);
    }
    Ok(())
}
