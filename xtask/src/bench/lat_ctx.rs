//! `tollgate lat_ctx` beside lmbench's own program, round by round.

use super::figures::{Effort, Figure, in_turns, random, ratio, skipped};
use super::neighbor::chosen_cpus;
use crate::tool::Tool;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

/// The directory that contains lmbench's `lat_ctx`, built from its source.
const PLACE: &str = "LMBENCH";
/// Kilobytes of each process and processes: from what fits into the first cache to what does not.
const POINTS: [(&str, &str); 7] =
    [("0", "2"), ("0", "8"), ("0", "16"), ("16", "2"), ("16", "8"), ("64", "2"), ("64", "16")];
/// How far the ratio may be from 1 where its interval does not contain 1.
const CLOSE: f64 = 0.03;

/// The ratio of ours to lmbench's at each point, and of the overheads, with its 95 % interval over the rounds.
pub(super) fn beside_lmbench(tool: &Tool, effort: &Effort) -> Result<Vec<Figure>> {
    let folder = std::env::var_os(PLACE).unwrap_or_default();
    let program = Path::new(&folder).join("lat_ctx");
    if !program.is_file() {
        let why = format!("set {PLACE} to the directory that contains lmbench's lat_ctx");
        return Ok(vec![skipped("lat_ctx beside lmbench's", &why)]);
    }
    let cpu = chosen_cpus(tool)?.measured.context("the run names no CPU")?.to_string();
    let mut ratios: [Vec<Output>; POINTS.len()] = Default::default();
    for _ in 0..effort.runs {
        let mut order: Vec<usize> = (0..POINTS.len()).collect();
        order.sort_by_cached_key(|_| random());
        for point in order {
            let (size, procs) = POINTS[point];
            let ours = || output(tool.command(&["lat_ctx", "--no-save", "--cpu", &cpu, "-s", size, procs]));
            let theirs = || {
                let mut command = Command::new("taskset");
                command.args(["-c", &cpu]).arg(&program).args(["-s", size, procs]);
                output(command)
            };
            let (ours, theirs) = in_turns(ours, theirs)?;
            ratios[point].push([ours[0] / theirs[0], ours[1] / theirs[1]]);
        }
    }
    let figures = POINTS.iter().zip(&ratios).flat_map(|((size, procs), ratios)| {
        ["overhead", "switch"].into_iter().enumerate().map(move |(at, what)| {
            let logs: Vec<f64> = ratios.iter().map(|ratio| ratio[at].ln()).collect();
            figure(&format!("{what}, {size} KB, {procs} processes"), &logs)
        })
    });
    Ok(figures.collect())
}

/// Microseconds of the overhead and of a switch.
type Output = [f64; 2];

fn output(mut command: Command) -> Result<Output> {
    let done = command.output().with_context(|| format!("{command:?} could not be started"))?;
    let said = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "{command:?} failed: {said}");
    parsed(&said).with_context(|| format!("{command:?} printed no point: {said}"))
}

/// The overhead of the line `"size=16k ovr=1.05` and the time of the line `2 1.74` after it.
fn parsed(said: &str) -> Option<Output> {
    let mut lines = said.lines().skip_while(|line| !line.starts_with("\"size="));
    let overhead = lines.next()?.split_once("ovr=")?.1.trim().parse().ok()?;
    let switch = lines.next()?.split_whitespace().nth(1)?.parse().ok()?;
    Some([overhead, switch])
}

/// The ratio, which must be 1 or close to it.
fn figure(what: &str, logs: &[f64]) -> Figure {
    let [low, ratio, high] = ratio(logs);
    let is_met = low <= 1.0 && high >= 1.0 || low >= 1.0 - CLOSE && high <= 1.0 + CLOSE;
    let verdict = if is_met { "met" } else { "FALLS SHORT" };
    format!(
        "{what}, ours / lmbench's: {ratio:.3} ({low:.3} to {high:.3}, contains 1 or within 3 %) {verdict}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_programs_lines_are_read() {
        assert_eq!(parsed("\n\"size=16k ovr=1.05\n2 1.74\n"), Some([1.05, 1.74]));
        assert_eq!(parsed("\n\"size=16k ovr=1.05\n"), None, "lmbench omits what is not positive");
    }

    #[test]
    fn a_ratio_is_judged_by_its_interval() {
        let logs = |values: &[f64]| values.iter().map(|value: &f64| value.ln()).collect::<Vec<f64>>();
        assert!(figure("", &logs(&[0.9, 1.0, 1.1])).ends_with(" met"), "it contains 1");
        assert!(figure("", &logs(&[1.019, 1.02, 1.021])).ends_with(" met"), "it is within 3 %");
        assert!(figure("", &logs(&[1.09, 1.1, 1.11])).ends_with("SHORT"));
    }
}
