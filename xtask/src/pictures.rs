//! `cargo xtask pictures`: the pictures of the report and of the lab's page in README.md and docs, and every view of that page.

use crate::page;
use crate::tool::Tool;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use tollgate_testkit::{Browser, printed, workspace};

/// The limit of a picture, in bytes.
const LARGEST: u64 = 150_000;

/// The folder of the runs.
const RUNS: &str = "crates/report/tests/runs";

/// The runs, and the command that measures each.
static COMMANDS: &[(&str, &[&str])] = &[
    ("ladder", &["--quick", "--seed", "7"]),
    ("crossing", &["crossing", "--quick", "--seed", "7", "--no-guest"]),
    ("ring", &["ring", "--quick", "--procs", "2,8", "--size", "0,8K,32K,128K,1M", "--seed", "7"]),
    ("exec", &["exec", "--price", "now", "--", "ls", "-l", "/usr/bin"]),
    ("fault-kinds", &["fault", "kinds", "--quick", "--seed", "7"]),
    ("fault-scan", &["fault", "scan", "--quick", "--size", "64M"]),
    (
        "switch-growth",
        &["switch", "--growth", "--quick", "--runtime", "libc,rust-async,rust-thread", "--memory", "256M"],
    ),
    ("riscv-trap", &["riscv", "trap", "--core", "cva6"]),
    ("riscv-pipeline", &["riscv", "pipeline"]),
    ("riscv-interrupt", &["riscv", "pipeline", "--around", "interrupt", "--core", "cva6"]),
    ("riscv-icache", &["riscv", "icache", "--sweep"]),
];

/// Make the pictures of the report and of the lab's page in README.md and docs
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder to write them to
    #[arg(long, value_name = "DIR", default_value = "docs/pictures")]
    to: PathBuf,
    /// The folder for every view of the lab's page, light, dark, and on a phone
    #[arg(long, value_name = "DIR", default_value = "target/pictures")]
    views: PathBuf,
    /// Use this module for the lab's page instead of building it
    #[arg(long, value_name = "FILE")]
    module: Option<PathBuf>,
    /// Measure the runs on this machine first; best on a quiet one
    #[arg(long)]
    measure: bool,
}

impl Args {
    pub(crate) fn run(&self) -> Result<()> {
        let root = workspace::root()?;
        let browser = Browser::find()?;
        let tool = Tool::build(&root)?;
        let runs = root.join(RUNS);
        if self.measure {
            measure(&tool, &runs)?;
        }
        let scratch = tempfile::tempdir()?;
        let page = |name: &str, of: &[&str]| -> Result<PathBuf> {
            let page = scratch.path().join(name);
            let of = of.iter().map(|run| runs.join(format!("{run}.json")));
            printed(tool.command(&["report", "--out"]).arg(&page).args(of))?;
            Ok(page)
        };
        let ladder = page("ladder.html", &["ladder"])?;
        let all: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
        let full = page("full.html", &all)?;
        let folder = root.join(&self.to);
        fs::create_dir_all(&folder)?;
        let drawn = browser.script("shots.mjs").arg(&ladder).arg(&full).arg(&folder).status()?;
        let site = scratch.path().join("site");
        page::built(&root, &site, self.module.as_deref())?;
        let shots = root.join("crates/page/tests/browser/shots.mjs");
        let of_page = browser.run(&shots).arg(&site).arg(&folder).arg(root.join(&self.views)).status()?;
        if !drawn.success() || !of_page.success() {
            bail!("the pictures could not be made");
        }
        check_sizes(&folder)
    }
}

/// Measures every run and writes it as one line.
fn measure(tool: &Tool, folder: &Path) -> Result<()> {
    for (name, arguments) in COMMANDS {
        println!("measuring {name}");
        let file = folder.join(format!("{name}.json"));
        if let ["exec", options @ ..] = arguments {
            // Standard output is the command's.
            let words = ["exec", "--no-save", "--json", "--out", "exec.json"];
            printed(tool.command(&words).current_dir(folder).args(options))?;
            let run: serde_json::Value = serde_json::from_slice(&fs::read(&file)?)?;
            fs::write(file, format!("{run}\n"))?;
            continue;
        }
        let (run, _) = tool.json(&[*arguments, &["--no-save"]].concat())?;
        fs::write(file, format!("{run}\n"))?;
    }
    Ok(())
}

/// Refuses large pictures, which would make clones slow.
fn check_sizes(folder: &Path) -> Result<()> {
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
    use super::{LARGEST, check_sizes};

    #[test]
    fn a_large_picture_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let size = |bytes: u64| {
            let file = std::fs::File::create(folder.path().join("x.png")).expect("made");
            file.set_len(bytes).expect("sized");
            check_sizes(folder.path()).is_ok()
        };
        assert!(size(LARGEST) && !size(LARGEST + 1));
    }
}
