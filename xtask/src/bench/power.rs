//! `cargo xtask bench power`: which changes a comparison finds, and how often it finds one where nothing changed.
//!
//! The whole takes a day and a half, so it is made of cells, one for each way to measure and each neighbor, and of rounds. A cell
//! keeps its counts in `target/power`, and another call adds to them. `--cell quick/quiet` measures one cell.

use super::figures::{Effort, Figure, median, skipped};
use super::neighbor::{NEIGHBORS, chosen_cpus};
use crate::tool::Tool;
use anyhow::{Context, Result};
use serde_json::Value;
use statrs::distribution::{Beta, ContinuousCDF};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tollgate_testkit::{printed, workspace};

/// The changes that are planted, in percent.
const CHANGES: [u32; 5] = [1, 2, 3, 5, 10];
/// A change is planted into one probe in so many, so that most of a comparison has not changed.
const ONE_IN: usize = 6;
/// Ten probes of one CPU that are measured in pairs.
const OF_PAIRS: [&str; 10] = [
    "vdso/clock_gettime",
    "fiber/own",
    "syscall/getppid",
    "syscall/read",
    "fault/anonymous",
    "fault/protection",
    "signal/self",
    "thread/futex",
    "thread/pipe",
    "process/pipe",
];
/// What a pair takes of the time of `--budget-ms`.
const TIMES_OF_PAIR: f64 = 1.8;

/// How the two sides are measured.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Separate runs, with these options; seconds of a run.
    Separate(&'static [&'static str], f64),
    /// One run in pairs; seconds.
    Pairs(f64),
}

const WAYS: [(&str, Way); 5] = [
    ("quick", Way::Separate(&["--quick"], 4.0)),
    ("default", Way::Separate(&[], 33.0)),
    ("pairs-30", Way::Pairs(30.0)),
    ("pairs-60", Way::Pairs(60.0)),
    ("pairs-120", Way::Pairs(120.0)),
];

/// What was counted in a cell: `[times, of]` by key. `named FAMILY` are rows without a change that got a verdict, `found
/// FAMILY PERCENT` those with one that was found, `sees` the sum of the medians of the smallest change that rows say
/// they see, in hundredths of a percent.
type Counts = BTreeMap<String, [u64; 2]>;

pub(super) fn power(_: &Tool, effort: &Effort) -> Result<Vec<Figure>> {
    let root = workspace::root()?;
    let folder = root.join("target/power");
    fs::create_dir_all(&folder)?;
    let names = WAYS.iter().flat_map(|way| NEIGHBORS.iter().map(move |neighbor| (way, neighbor)));
    let cells = names.map(|(way, neighbor)| (format!("{}/{}", way.0, neighbor.0), way.1, neighbor.1));
    let cells: Vec<_> = cells
        .filter(|(name, ..)| effort.cell.as_ref().is_none_or(|wanted| name.starts_with(wanted.as_str())))
        .collect();
    for (name, way, _) in &cells {
        println!(
            "  {name}: {} rounds take about {:.0} min",
            effort.runs,
            f64::from(effort.runs) * seconds(*way) / 60.0
        );
    }
    let tool = Tool::planted(&root)?;
    let peer = chosen_cpus(&tool)?.peer;
    let mut figures = Vec::new();
    for (name, way, neighbor) in cells {
        let path = folder.join(name.replace('/', "-") + ".json");
        let mut counts = read(&path)?;
        let _neighbor = match (neighbor, peer) {
            (Some(neighbor), Some(peer)) => Some(neighbor.on(peer)?),
            (Some(_), None) => {
                figures.push(skipped(&name, "only one CPU may be used"));
                continue;
            }
            (None, _) => None,
        };
        let start = Instant::now();
        for round in 1..=effort.runs {
            let number = counts.get("rounds").map_or(0, |rounds| rounds[0]);
            match way {
                Way::Separate(args, _) => separate(&tool, args, number as usize, &mut counts)?,
                Way::Pairs(seconds) => pairs(&tool, seconds, number as usize, &mut counts)?,
            }
            counts.entry("rounds".into()).or_default()[0] += 1;
            fs::write(&path, serde_json::to_string_pretty(&counts)?)?;
            println!("  {name}: round {round} of {}, {:.0} s", effort.runs, start.elapsed().as_secs_f64());
        }
        figures.extend(table(&name, &counts));
    }
    Ok(figures)
}

/// Seconds of a round: without a change, and with each.
fn seconds(way: Way) -> f64 {
    match way {
        Way::Separate(_, seconds) => seconds * (CHANGES.len() + 2) as f64,
        Way::Pairs(seconds) => seconds * (CHANGES.len() + 1) as f64,
    }
}

fn read(path: &Path) -> Result<Counts> {
    if !path.exists() {
        return Ok(Counts::new());
    }
    let text = fs::read(path)?;
    serde_json::from_slice(&text).with_context(|| format!("cannot read '{}'", path.display()))
}

/// Every sixth probe; which of them is first depends on the round.
fn planted(probes: &[String], round: usize) -> Vec<String> {
    probes.iter().skip(round % ONE_IN).step_by(ONE_IN).cloned().collect()
}

/// A run, one without a change, and one for each change, the order turned from round to round; each is compared with the first.
fn separate(tool: &Tool, args: &[&str], round: usize, counts: &mut Counts) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let measure = |name: String, change: u32, probes: &[String]| -> Result<PathBuf> {
        let path = dir.path().join(name + ".json");
        let mut command = tool.command(args);
        command.args(["--no-save", "--json", "--out"]).arg(&path);
        command.env("TOLLGATE_PLANTED", (f64::from(change) / 100.0).to_string());
        command.env("TOLLGATE_PLANTED_PROBES", probes.join(","));
        printed(&mut command)?;
        Ok(path)
    };
    let first = measure("first".into(), 0, &[])?;
    let run = tollgate_record::document::from_json(&fs::read(&first)?)?;
    let probes: Vec<String> = run.results.iter().map(|row| row.probe.clone()).collect();
    let probes = planted(&probes, round);
    let mut changes = vec![0];
    changes.extend(CHANGES);
    changes.rotate_left(round % (CHANGES.len() + 1));
    for change in changes {
        let with = if change == 0 { &[][..] } else { &probes };
        let second = measure(format!("planted-{change}"), change, with)?;
        let [a, b] = [&first, &second].map(|path| path.to_string_lossy().into_owned());
        count(&tool.json(&["compare", &a, &b])?.0, change, with, "worse", counts)?;
    }
    Ok(())
}

/// One run in pairs without a change and one for each change, planted into the side that is held against.
fn pairs(tool: &Tool, seconds: f64, round: usize, counts: &mut Counts) -> Result<()> {
    let budget = ((seconds / TIMES_OF_PAIR * 1e3) as u64).to_string();
    let all = OF_PAIRS.map(str::to_owned);
    for change in [0].into_iter().chain(CHANGES) {
        let probes = if change == 0 { Vec::new() } else { planted(&all, round) };
        let with = format!(
            "env TOLLGATE_PLANTED={} TOLLGATE_PLANTED_PROBES={}",
            f64::from(change) / 100.0,
            probes.join(",")
        );
        let mut args = vec!["run"];
        args.extend(OF_PAIRS);
        args.extend(["--against-with", &with, "--budget-ms", &budget, "--no-save"]);
        count(&tool.json(&args)?.0, change, &probes, "better", counts)?;
    }
    Ok(())
}

/// Adds the verdicts of a comparison. A planted change must get the verdict `found`.
fn count(
    comparison: &Value,
    change: u32,
    planted: &[String],
    found: &str,
    counts: &mut Counts,
) -> Result<()> {
    let rows = comparison["rows"].as_array().context("a comparison without rows")?;
    let mut add = |key: String, yes: bool| {
        let [times, of] = counts.entry(key).or_default();
        (*times, *of) = (*times + u64::from(yes), *of + 1);
    };
    for row in rows {
        let (probe, verdict) = (row["probe"].as_str().unwrap_or(""), row["verdict"].as_str().unwrap_or(""));
        let family = probe.split('/').next().unwrap_or(probe);
        if planted.iter().any(|it| it == probe) {
            add(format!("found {family} {change:02}"), verdict == found);
            add(format!("found all {change:02}"), verdict == found);
        } else {
            for family in [family, "all"] {
                add(format!("named {family}"), verdict == "better" || verdict == "worse");
                add(format!("worse {family}"), verdict == "worse");
            }
        }
    }
    let sees: Vec<f64> = rows.iter().filter_map(|row| row["smallest_seen"].as_f64()).collect();
    let [sum, of] = counts.entry("sees".into()).or_default();
    (*sum, *of) = (*sum + (median(sees) * 1e4) as u64, *of + 1);
    Ok(())
}

/// Lines for a cell: false alarms, and for each family what was found of each change.
fn table(name: &str, counts: &Counts) -> Vec<Figure> {
    let share = |[times, of]: [u64; 2]| {
        let [low, high] = binomial(times, of);
        format!("{times} of {of} ({:.1} to {:.1} %)", 100.0 * low, 100.0 * high)
    };
    let get = |key: &str| counts.get(key).copied().unwrap_or_default();
    let sees = get("sees");
    let mut lines = vec![format!(
        "{name}: named without a change {}, {} of them worse; rows say that they see {:.1} %",
        share(get("named all")),
        get("worse all")[0],
        sees[0] as f64 / sees[1].max(1) as f64 / 100.0
    )];
    let families = counts.keys().filter_map(|key| key.strip_prefix("named "));
    for family in families {
        let found: Vec<(u32, [u64; 2])> =
            CHANGES.iter().map(|change| (*change, get(&format!("found {family} {change:02}")))).collect();
        let enough = found.iter().find(|(_, [times, of])| *of > 0 && *times * 100 >= *of * 95);
        let smallest = enough.map_or("none".into(), |(change, _)| format!("{change} %"));
        let each = found.iter().filter(|(_, counts)| counts[1] > 0);
        let each: Vec<String> =
            each.map(|(change, counts)| format!("{change} %: {}", share(*counts))).collect();
        lines.push(format!("{name} {family}: found 95 in 100 times: {smallest}; {}", each.join(", ")));
    }
    lines
}

/// The 95 % interval of a share (Clopper and Pearson 1934).
fn binomial(times: u64, of: u64) -> [f64; 2] {
    let (k, n) = (times as f64, of as f64);
    let quantile = |a: f64, b: f64, p: f64| Beta::new(a, b).map_or(f64::NAN, |it| it.inverse_cdf(p));
    let low = if times == 0 { 0.0 } else { quantile(k, n - k + 1.0, 0.025) };
    let high = if times >= of { 1.0 } else { quantile(k + 1.0, n - k, 0.975) };
    [low, high]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_the_interval_of_the_tables() {
        // Clopper and Pearson's for 0 and 5 of 10, as any table has them.
        let [low, high] = binomial(0, 10);
        assert!(low == 0.0 && (high - 0.3085).abs() < 1e-4, "{high}");
        let [low, high] = binomial(5, 10);
        assert!((low - 0.1871).abs() < 1e-4 && (high - 0.8129).abs() < 1e-4, "{low} {high}");
        assert_eq!(binomial(10, 10)[1], 1.0);
    }

    #[test]
    fn what_was_planted_is_counted_apart() {
        let row = |probe: &str, verdict: &str| serde_json::json!({"probe": probe, "verdict": verdict, "smallest_seen": 0.02});
        let found = serde_json::json!({ "rows": [
            row("call/a", "worse"), row("call/b", "same"), row("fault/a", "worse"), row("fault/b", "better")
        ] });
        let (mut counts, planted) = (Counts::new(), ["fault/a".to_owned(), "call/b".to_owned()]);
        count(&found, 3, &planted, "worse", &mut counts).unwrap();
        assert_eq!(
            (counts["found fault 03"], counts["found call 03"], counts["found all 03"]),
            ([1, 1], [0, 1], [1, 2])
        );
        assert_eq!((counts["named all"], counts["worse all"], counts["sees"]), ([2, 2], [1, 2], [200, 1]));
        let lines = table("quick/quiet", &counts);
        assert!(
            lines.iter().any(|line| line.starts_with("quick/quiet fault: found 95 in 100 times: 3 %")),
            "{lines:?}"
        );
    }

    #[test]
    fn each_probe_is_planted_in_one_round_of_six() {
        let probes: Vec<String> = (0..8).map(|n| n.to_string()).collect();
        assert_eq!(planted(&probes, 0), ["0", "6"]);
        let all: Vec<String> = (0..6).flat_map(|round| planted(&probes, round)).collect();
        assert_eq!(all.len(), 8);
    }
}
