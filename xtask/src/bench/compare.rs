//! Comparisons of equal runs: how often they report a difference.

use super::effort::Effort;
use super::figures::Figure;
use crate::tool::Tool;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Makes quick runs and compares them in pairs: the first with the second, the third with the fourth. The promise is about
/// 200 pairs: `cargo xtask bench compare --runs 400`.
pub(super) fn compare(tool: &Tool, effort: &Effort) -> Result<Vec<Figure>> {
    let dir = tempfile::tempdir()?;
    let paths = (0..effort.runs)
        .map(|place| {
            let (document, _) = tool.json(&["--quick", "--no-save"])?;
            let path = dir.path().join(format!("{place:04}.json"));
            std::fs::write(&path, serde_json::to_vec(&document)?)?;
            Ok(path)
        })
        .collect::<Result<Vec<PathBuf>>>()?;
    let mut verdicts: BTreeMap<String, u32> = BTreeMap::new();
    let mut flagged: BTreeMap<String, u32> = BTreeMap::new();
    let mut seen: Vec<f64> = Vec::new();
    for pair in paths.chunks_exact(2) {
        let [a, b] = [&pair[0], &pair[1]].map(|path| path.to_string_lossy());
        let (found, _) = tool.json(&["compare", &a, &b])?;
        for row in found["rows"].as_array().context("a comparison without rows")? {
            let verdict = row["verdict"].as_str().unwrap_or("none").to_owned();
            if verdict == "better" || verdict == "worse" {
                let row =
                    format!("{}: {verdict}, {:.3}", row["probe"], row["ratio"].as_f64().unwrap_or(f64::NAN));
                *flagged.entry(row).or_default() += 1;
            }
            seen.extend(row["smallest_seen"].as_f64());
            *verdicts.entry(verdict).or_default() += 1;
        }
    }
    for (row, times) in &flagged {
        println!("  {row} ({times})");
    }
    println!("  {}", words(&verdicts));
    let count = |verdict: &str| f64::from(verdicts.get(verdict).copied().unwrap_or(0));
    let (better, worse) = (count("better"), count("worse"));
    let all: f64 = verdicts.values().map(|&times| f64::from(times)).sum();
    seen.sort_by(f64::total_cmp);
    let middle = seen.get(seen.len() / 2).copied().unwrap_or(f64::NAN);
    println!("  smallest change that is detected: {:.1} % (median of all probes)", middle * 100.0);
    // The difference of heads and tails in fair tosses has a standard deviation of the square root of their number.
    let uneven = if better + worse > 0.0 { (better - worse).abs() / (better + worse).sqrt() } else { 0.0 };
    let pairs = paths.len() / 2;
    Ok(vec![
        Figure::at_most(
            &format!("A/A, {pairs} pairs: probes called better or worse, %"),
            100.0 * (better + worse) / all,
            1.0,
        ),
        Figure::at_most("A/A: better against worse, in deviations of a fair toss", uneven, 3.0),
    ])
}

fn words(verdicts: &BTreeMap<String, u32>) -> String {
    verdicts.iter().map(|(verdict, times)| format!("{times} {verdict}")).collect::<Vec<_>>().join(", ")
}
