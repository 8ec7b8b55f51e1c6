//! How long an export of a full run takes, including the start of the program.

use super::figures::Figure;
use crate::tool::Tool;
use anyhow::{Context, Result, bail};
use std::time::Instant;

/// Exports of each format; the figure is the slowest one.
const TIMES: usize = 5;

/// Exports a quick run of all probes in each format.
pub(super) fn export(tool: &Tool) -> Result<Vec<Figure>> {
    let dir = tempfile::tempdir()?;
    let run = dir.path().join("run.json");
    let run = run.to_str().context("the path of the temporary directory is text")?;
    let measured = tool.command(&["--quick", "--no-save", "--json", "--out", run]).status()?;
    if !measured.success() {
        bail!("the run to export failed");
    }
    let formats = [
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
    let out = dir.path().join("exported");
    let out = out.to_str().context("the path of the temporary directory is text")?;
    formats
        .into_iter()
        .map(|format| {
            let mut slowest: f64 = 0.0;
            for _ in 0..TIMES {
                let start = Instant::now();
                let mut command = tool.command(&["export", run, "--format", format, "--out", out]);
                if !command.stderr(std::process::Stdio::null()).status()?.success() {
                    bail!("the export as {format} failed");
                }
                slowest = slowest.max(start.elapsed().as_secs_f64());
            }
            Ok(Figure::at_most(&format!("export of a full run as {format}, s"), slowest, 0.2))
        })
        .collect()
}
