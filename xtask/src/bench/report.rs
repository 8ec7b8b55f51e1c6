//! The page of twenty runs: the time and memory to make it, and its size.

use super::figures::Figure;
use crate::tool::Tool;
use anyhow::{Result, bail};
use std::time::{Duration, Instant};

/// The number of runs on the page.
const RUNS: usize = 20;

/// Makes one page of twenty quick runs.
pub(super) fn report(tool: &Tool) -> Result<Vec<Figure>> {
    let place = tempfile::tempdir()?;
    let path = |name: &str| place.path().join(name).to_string_lossy().into_owned();
    let runs: Vec<String> = (0..RUNS).map(|n| path(&format!("run{n}.json"))).collect();
    for run in &runs {
        let status = tool.command(&["--quick", "--json", "--no-save", "--out", run]).status()?;
        if !status.success() {
            bail!("a quick run failed: {status}");
        }
    }
    let page = path("page.html");
    let mut args = vec!["report", "--out", &page];
    args.extend(runs.iter().map(String::as_str));
    let start = Instant::now();
    let mut child = tool.command(&args).spawn()?;
    let mut peak = 0.0_f64;
    // The kernel keeps the peak, so the last reading before the end is the peak or close to it.
    let status = loop {
        peak = peak.max(resident(child.id()).unwrap_or(0.0));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let seconds = start.elapsed().as_secs_f64();
    if !status.success() {
        bail!("tollgate report failed: {status}");
    }
    let bytes = std::fs::metadata(&page)?.len();
    Ok(vec![
        Figure::at_most("page of 20 runs, seconds", seconds, 2.0),
        Figure::at_most("page of 20 runs, peak resident MB", peak, 200.0),
        Figure::at_most("page of 20 runs, MB", bytes as f64 / 1e6, 1.0),
    ])
}

/// The peak resident size of a process in MB; `None` after it has ended.
fn resident(id: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}
