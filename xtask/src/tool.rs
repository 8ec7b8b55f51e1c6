//! The program tollgate, built and called.

use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use tollgate_record::{Run, document};
use tollgate_testkit::{printed, workspace};

/// The release binary.
pub(crate) struct Tool {
    path: PathBuf,
    /// Where it searches for programs, if not where this process does.
    search: Option<OsString>,
}

impl Tool {
    pub(crate) fn build(root: &Path) -> Result<Self> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        Self::build_in(root, &target, &[])
    }

    /// The program that makes batches longer if the environment says so, beside the one that users get.
    pub(crate) fn planted(root: &Path) -> Result<Self> {
        Self::build_in(root, &root.join("target/planted"), &["--features", "tollgate-measure/planted"])
    }

    /// Another build of the program.
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), search: None }
    }

    fn build_in(root: &Path, target: &Path, options: &[&str]) -> Result<Self> {
        let built = workspace::cargo(root)
            .args(["build", "--release", "--quiet", "--package", "tollgate", "--target-dir"])
            .arg(target)
            .args(options)
            .status()?;
        ensure!(built.success(), "the release build failed");
        Ok(Self { path: target.join("release/tollgate"), search: None })
    }

    /// The same program, which finds programs in this folder first.
    pub(crate) fn finding_in(&self, folder: &Path) -> Result<Self> {
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&usual));
        Ok(Self { path: self.path.clone(), search: Some(std::env::join_paths(folders)?) })
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command.args(args).stdin(Stdio::null());
        if let Some(search) = &self.search {
            command.env("PATH", search);
        }
        command
    }

    /// The document that the program prints with these arguments and `--json`, and how many seconds it took.
    pub(crate) fn json(&self, args: &[&str]) -> Result<(serde_json::Value, f64)> {
        self.document(args, |text| Ok(serde_json::from_slice(text)?))
    }

    /// The record of a run with these arguments that is not saved, and how many seconds it took.
    pub(crate) fn run(&self, args: &[&str]) -> Result<(Run, f64)> {
        self.document(&[args, &["--no-save"]].concat(), |text| Ok(document::from_json(text)?))
    }

    fn document<T>(&self, args: &[&str], read: impl Fn(&[u8]) -> Result<T>) -> Result<(T, f64)> {
        let start = Instant::now();
        let output = self.command(args).args(["--json"]).stderr(Stdio::inherit()).output()?;
        let seconds = start.elapsed().as_secs_f64();
        let document = read(&output.stdout)
            .with_context(|| format!("tollgate {} printed no document", args.join(" ")))?;
        Ok((document, seconds))
    }

    /// The paths of so many quick runs, which are written into a folder.
    pub(crate) fn quick_runs(&self, folder: &Path, count: usize) -> Result<Vec<String>> {
        let measure = |number| {
            let path = folder.join(format!("{number:04}.json")).to_string_lossy().into_owned();
            printed(&mut self.command(&["--quick", "--no-save", "--json", "--out", &path]))?;
            Ok(path)
        };
        (0..count).map(measure).collect()
    }
}
