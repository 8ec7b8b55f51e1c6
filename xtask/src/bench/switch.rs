//! The promised figures of `tollgate switch`.

use super::effort::Effort;
use super::figures::{Figure, median};
use crate::tool::Tool;
use anyhow::Result;
use serde_json::Value;

/// Pairs of measurements of Boost.Fiber: one pair shows changes of the core's frequency rather than the batches.
const PAIRS: usize = 5;

/// The time of the default table, our own switch beside the other stackful ones, and Boost.Fiber in longer batches.
pub(super) fn switch(tool: &Tool, _: &Effort) -> Result<Vec<Figure>> {
    // Builds the runtimes, so that the next call measures only.
    tool.json(&["switch", "--quick", "--no-save"])?;
    let (run, seconds) = tool.json(&["switch", "--no-save"])?;
    let rows = rows(&run);
    let mut figures = vec![Figure::at_most("tollgate switch, seconds once built", seconds, 90.0)];
    let own = rows.iter().find(|row| row.name == "own/jmp").map_or(f64::NAN, |row| row.ns);
    let others = rows.iter().filter(|row| row.kind == "stackful" && !row.name.starts_with("own/"));
    match others.min_by(|a, b| a.ns.total_cmp(&b.ns)) {
        Some(best) => {
            let what = format!("own/jmp, ns, beside {} which is the fastest other stackful row", best.name);
            figures.push(Figure::at_most(&what, own, best.ns));
        }
        None => {
            figures.push(Figure::skipped("own/jmp beside others", "no other stackful runtime can be built"))
        }
    }
    if rows.iter().any(|row| row.name == "boost-fiber/yield") {
        let pairs: Vec<[f64; 2]> = (0..PAIRS).map(|_| pair(tool)).collect::<Result<_>>()?;
        println!("  boost-fiber/yield in batches of 0.3 and of 3 ms, ns, alternately: {pairs:.2?}");
        let middle = |which: usize| median(pairs.iter().map(|pair| pair[which]).collect());
        let apart = (middle(0) / middle(1) - 1.0).abs() * 100.0;
        figures.push(Figure::at_most(
            "boost-fiber/yield, medians, % from batches ten times as long",
            apart,
            5.0,
        ));
    } else {
        figures.push(Figure::skipped(
            "boost-fiber/yield",
            "it cannot be built here (apt-get install libboost-fiber-dev)",
        ));
    }
    Ok(figures)
}

struct SwitchRow {
    name: String,
    kind: String,
    ns: f64,
}

fn rows(run: &Value) -> Vec<SwitchRow> {
    let all = run["results"].as_array().into_iter().flatten();
    all.filter_map(|result| {
        Some(SwitchRow {
            name: result["probe"].as_str()?.strip_prefix("switch/")?.to_owned(),
            kind: result["asked"]["kind"].as_str()?.to_owned(),
            ns: result["ns"]["estimate"].as_f64()?,
        })
    })
    .collect()
}

/// Nanoseconds per switch of Boost.Fiber's yield, in batches of the default length and ten times as long.
fn pair(tool: &Tool) -> Result<[f64; 2]> {
    let mut both = [0.0; 2];
    for (ns, batch_us) in both.iter_mut().zip(["300", "3000"]) {
        let (run, _) = tool.json(&["switch", "boost-fiber/yield", "--no-save", "--batch-us", batch_us])?;
        *ns = rows(&run).first().map_or(f64::NAN, |row| row.ns);
    }
    Ok(both)
}
