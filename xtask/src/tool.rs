//! The program tollgate, built and called.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use tollgate_testkit::workspace;

/// The release binary.
pub(crate) struct Tool {
    path: PathBuf,
}

impl Tool {
    pub(crate) fn build(root: &Path) -> Result<Self> {
        let built = workspace::cargo(root)
            .args(["build", "--release", "--quiet", "--package", "tollgate"])
            .status()?;
        if !built.success() {
            bail!("the release build failed");
        }
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        Ok(Self { path: target.join("release/tollgate") })
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command.args(args).stdin(Stdio::null());
        command
    }

    /// The document that the program prints with these arguments and `--json`, and how many seconds it took.
    pub(crate) fn json(&self, args: &[&str]) -> Result<(serde_json::Value, f64)> {
        let start = Instant::now();
        let output = self.command(args).args(["--json"]).stderr(Stdio::inherit()).output()?;
        let seconds = start.elapsed().as_secs_f64();
        let document = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("tollgate {} printed no document", args.join(" ")))?;
        Ok((document, seconds))
    }
}
