//! The page of 20 runs in a browser: the time from the request until it is interactive.

use super::figures::{Figure, number_after};
use crate::tool::Tool;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::fs;
use std::process::Stdio;
use tollgate_testkit::{Browser, workspace};

/// The number of runs on the page.
const RUNS: usize = 20;

/// Opens a page of twenty ladders as on a desktop and as on a phone.
pub(super) fn page(tool: &Tool) -> Result<Vec<Figure>> {
    let browser = Browser::find()?;
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
    let done = tool.command(&[]).args(&arguments).stderr(Stdio::null()).status()?;
    if !done.success() {
        bail!("tollgate report failed");
    }
    let loaded = browser.script("load.mjs").arg(&written).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&loaded.stdout);
    let milliseconds = |word: &str| number_after(&text, &[word]).unwrap_or(f64::NAN);
    Ok(vec![
        Figure::at_most("request to interactive, ms", milliseconds("desktop"), 500.0),
        Figure::at_most("on a phone at a quarter of the speed, ms", milliseconds("phone"), 500.0),
    ])
}
