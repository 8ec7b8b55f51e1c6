//! Saved runs in other forms: the page of twenty runs, made and in a browser, and each format of `tollgate export`.

use super::figures::{Figure, at_most, number_after};
use crate::tool::Tool;
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;
use tollgate_supervise::Tree;
use tollgate_testkit::{Browser, printed, workspace};

/// The number of runs on the page.
const RUNS: usize = 20;

/// Exports of each format; the figure is the slowest one.
const TIMES: usize = 5;

static FORMATS: &[&str] = &[
    "csv",
    "google-benchmark",
    "benchstat",
    "bencher",
    "github-action-benchmark",
    "openmetrics",
    "hdr",
    "chrome-trace",
    "markdown",
];

/// How long an export of a quick run of all probes takes in each format, including the start of the program.
pub(super) fn export(tool: &Tool) -> Result<Vec<Figure>> {
    let dir = tempfile::tempdir()?;
    let run = tool.quick_runs(dir.path(), 1)?.remove(0);
    let out = dir.path().join("exported").to_string_lossy().into_owned();
    let seconds = |format: &str| {
        let start = Instant::now();
        printed(&mut tool.command(&["export", &run, "--format", format, "--out", &out]))?;
        Ok(start.elapsed().as_secs_f64())
    };
    let figure = |format: &&str| {
        let slowest = (0..TIMES).map(|_| seconds(format)).collect::<Result<Vec<f64>>>()?;
        let slowest = slowest.into_iter().fold(0.0, f64::max);
        Ok(at_most(&format!("export of a full run as {format}, s"), slowest, 0.2))
    };
    FORMATS.iter().map(figure).collect()
}

/// The time and memory to make the page of twenty quick runs, and its size.
pub(super) fn report(tool: &Tool) -> Result<Vec<Figure>> {
    let place = tempfile::tempdir()?;
    let runs = tool.quick_runs(place.path(), RUNS)?;
    let page = place.path().join("page.html");
    let report = || -> Command {
        let mut command = tool.command(&["report", "--out"]);
        command.arg(&page).args(&runs);
        command
    };
    let start = Instant::now();
    let ended = Tree::start(report, None)?.wait();
    let seconds = start.elapsed().as_secs_f64();
    ensure!(ended.status.success(), "tollgate report failed: {}", ended.status);
    let bytes = fs::metadata(&page)?.len();
    Ok(vec![
        at_most("page of 20 runs, seconds", seconds, 2.0),
        // getrusage(2): in KiB.
        at_most("page of 20 runs, peak resident MB", ended.usage.ru_maxrss as f64 * 1024.0 / 1e6, 200.0),
        at_most("page of 20 runs, MB", bytes as f64 / 1e6, 1.0),
    ])
}

/// The page of twenty ladders, opened as on a desktop and as on a phone: the time until it is interactive.
pub(super) fn in_browser(tool: &Tool) -> Result<Vec<Figure>> {
    let browser = Browser::find()?;
    let scratch = tempfile::tempdir()?;
    let ladder = workspace::root()?.join("crates/report/tests/runs/ladder.json");
    let ladder: serde_json::Value = serde_json::from_slice(&fs::read(&ladder)?).context("ladder.json")?;
    let mut arguments: Vec<OsString> = vec!["report".into()];
    for n in 0..RUNS {
        let mut run = ladder.clone();
        run["id"] = format!("{}-{n}", run["id"].as_str().unwrap_or_default()).into();
        let path = scratch.path().join(format!("{n}.json"));
        fs::write(&path, run.to_string())?;
        arguments.push(path.into());
    }
    let written = scratch.path().join("report.html");
    arguments.extend(["--out".into(), written.clone().into()]);
    printed(tool.command(&[]).args(&arguments))?;
    let loaded = browser.script("load.mjs").arg(&written).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&loaded.stdout);
    let milliseconds = |word: &str| number_after(&text, &[word]).unwrap_or(f64::NAN);
    Ok(vec![
        at_most("request to interactive, ms", milliseconds("desktop"), 500.0),
        at_most("on a phone at a quarter of the speed, ms", milliseconds("phone"), 500.0),
    ])
}
