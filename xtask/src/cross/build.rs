//! Building the static program for one target.

use super::target::{STATIC, Target};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};

/// How it is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Profile {
    /// Quick to build: for tests
    Dev,
    /// What people are given
    Release,
}

impl Profile {
    /// The folder that cargo puts it in.
    fn folder(self) -> &'static str {
        match self {
            Self::Dev => "debug",
            Self::Release => "release",
        }
    }
}

/// What came of a build.
pub(crate) enum Build {
    /// The program.
    Done(PathBuf),
    /// It cannot be built here, and why: one sentence with what would enable it.
    Skipped(String),
}

/// Builds the static program `tollgate` for a target.
///
/// # Errors
/// When the compiler refuses it.
pub(crate) fn tollgate(root: &Path, target: &Target, profile: Profile) -> Result<Build> {
    let mut cargo = match target.cargo(root, "build")? {
        Ok(cargo) => cargo,
        Err(why) => return Ok(Build::Skipped(why)),
    };
    cargo.args(["--quiet", "--package", "tollgate"]);
    if profile == Profile::Release {
        cargo.arg("--release");
        // Where the sources lie is nobody's business, and would make two builds of the same sources differ.
        let flags = format!("{STATIC} -C strip=symbols --remap-path-prefix={}=.", root.display());
        cargo.env(target.variable("RUSTFLAGS"), flags);
    }
    let status = cargo.status().context("cargo could not be started")?;
    ensure!(status.success(), "tollgate does not build for {}: {status}", target.triple);
    let program = target.folder(root).join(target.triple).join(profile.folder()).join("tollgate");
    Ok(Build::Done(program))
}
