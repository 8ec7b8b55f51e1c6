//! Where the workspace is, and the cargo that runs us.

use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

/// The root folder of the workspace that the current directory is in.
pub(crate) fn root() -> Result<PathBuf> {
    let here = std::env::current_dir().context("the current directory is gone: change to the repository")?;
    here.ancestors()
        .find(|folder| folder.join("xtask/Cargo.toml").is_file())
        .map(PathBuf::from)
        .with_context(|| format!("{} is not inside the repository: change to it", here.display()))
}

/// The cargo that runs us, in the root folder.
pub(crate) fn cargo(root: &std::path::Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root);
    cargo
}
