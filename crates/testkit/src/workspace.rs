//! The folder of the workspace, and the cargo that runs this program.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root folder of the workspace that the current directory is in.
///
/// # Errors
/// When the current directory was removed or is outside of the workspace.
pub fn root() -> io::Result<PathBuf> {
    let here = std::env::current_dir()?;
    here.ancestors().find(|folder| folder.join("xtask/Cargo.toml").is_file()).map(PathBuf::from).ok_or_else(
        || io::Error::other(format!("{} is outside of the repository: change to it", here.display())),
    )
}

/// The cargo that runs this program, started in the root folder.
#[must_use]
pub fn cargo(root: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root);
    cargo
}
