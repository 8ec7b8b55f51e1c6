//! The report of 20 runs: how long it takes to write, what it weighs, and when a browser is done with it.

use super::Tool;
use super::figures::{Figure, number_after};
use crate::{pictures, workspace};
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

/// How many runs are on the page.
const RUNS: usize = 20;
/// Memory that the command may have, in KiB: 200 MB.
const MEMORY: u64 = 200_000_000 / 1024;

/// Writes the page several times, once with little memory, and opens it.
pub(super) fn page(tool: &Tool) -> Result<Vec<Figure>> {
    let browser = pictures::browser()?;
    let scratch = tempfile::tempdir()?;
    let ladder = workspace::root()?.join("crates/report/tests/runs/ladder.json");
    let ladder: serde_json::Value = serde_json::from_slice(&fs::read(&ladder)?).context("ladder.json")?;
    let mut arguments: Vec<OsString> = vec!["report".into()];
    for n in 0..RUNS {
        let mut run = ladder.clone();
        let id = format!("{}-{n}", run["id"].as_str().unwrap_or_default());
        run["id"] = id.into();
        let path = scratch.path().join(format!("{n}.json"));
        fs::write(&path, run.to_string())?;
        arguments.push(path.into());
    }
    let written = scratch.path().join("report.html");
    arguments.extend(["--out".into(), written.clone().into()]);
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        let done = tool.command(&[]).args(&arguments).stderr(Stdio::null()).status()?;
        if !done.success() {
            bail!("tollgate report failed");
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    let little = Command::new("sh")
        .args(["-c", &format!("ulimit -v {MEMORY} && exec \"$0\" \"$@\"")])
        .arg(&tool.path)
        .args(&arguments)
        .stderr(Stdio::null())
        .status()?;
    let loaded = browser.script("load.mjs").arg(&written).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&loaded.stdout);
    let milliseconds = |word: &str| number_after(&text, &[word]).unwrap_or(f64::NAN);
    Ok(vec![
        Figure::at_most("report of 20 ladders, s to write", best, 2.0),
        Figure::at_most("report of 20 ladders, KB", fs::metadata(&written)?.len() as f64 / 1000.0, 1000.0),
        Figure::at_most(
            "report of 20 ladders, fails in 200 MB of address space",
            f64::from(u8::from(!little.success())),
            0.0,
        ),
        Figure::at_most("request to interactive, ms", milliseconds("desktop"), 500.0),
        Figure::at_most("on a phone at a quarter of the speed, ms", milliseconds("phone"), 500.0),
    ])
}
