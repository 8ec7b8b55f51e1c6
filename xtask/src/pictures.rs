//! `cargo xtask pictures`: the pictures of the report that README.md and docs show, from the runs that its tests have.

use crate::workspace;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use tollgate_testkit::{Browser, NoBrowser};

/// No picture is larger, in bytes.
const LARGEST: u64 = 150_000;

/// The runs on the page, from `crates/report/tests/runs`.
const RUNS: [&str; 8] = [
    "ladder", "crossing", "ring", "fault-scan", "switch-growth", "riscv-trap", "riscv-pipeline", "riscv-icache",
];

/// Make the pictures of the report that README.md and docs show
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where they are written
    #[arg(long, value_name = "DIR", default_value = "docs/pictures")]
    to: PathBuf,
}

impl Args {
    pub(crate) fn run(&self) -> Result<()> {
        let root = workspace::root()?;
        let browser = browser()?;
        let scratch = tempfile::tempdir()?;
        let page = scratch.path().join("report.html");
        let runs = RUNS.map(|name| root.join(format!("crates/report/tests/runs/{name}.json")));
        let written = workspace::cargo(&root)
            .args(["run", "--quiet", "--package", "tollgate", "--", "report", "--out"])
            .arg(&page)
            .args(runs)
            .status()?;
        if !written.success() {
            bail!("tollgate report failed");
        }
        let folder = root.join(&self.to);
        fs::create_dir_all(&folder)?;
        let drawn = browser.script("shots.mjs").arg(&page).arg(&folder).status()?;
        if !drawn.success() {
            bail!("the pictures could not be made");
        }
        small(&folder)
    }
}

/// The browser; here it is no reason to skip that something is missing.
pub(crate) fn browser() -> Result<Browser> {
    match Browser::find() {
        Ok(browser) => Ok(browser),
        Err(NoBrowser::Missing(why) | NoBrowser::Broken(why)) => bail!("{why}"),
    }
}

/// Refuses pictures that make a clone heavy.
fn small(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).context("the pictures' folder")? {
        let entry = entry?;
        let bytes = entry.metadata()?.len();
        if bytes > LARGEST {
            bail!("{} has {bytes} bytes: at most {LARGEST}", entry.path().display());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{LARGEST, small};

    #[test]
    fn a_large_picture_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let size = |bytes: u64| {
            let file = std::fs::File::create(folder.path().join("x.png")).expect("made");
            file.set_len(bytes).expect("sized");
            small(folder.path()).is_ok()
        };
        assert!(size(LARGEST) && !size(LARGEST + 1));
    }
}
