//! The promised figures of `tollgate switch`.

use super::figures::Figure;
use super::{Args, Tool};
use anyhow::Result;
use serde_json::Value;

/// The default table's time, our own switch beside the other stackful ones, and Boost.Fiber in longer batches.
pub(super) fn switch(tool: &Tool, _: &Args) -> Result<Vec<Figure>> {
    // Built once, outside the clock.
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
    for row in rows.iter().filter(|row| row.name == "boost-fiber/yield") {
        let longer = longer(tool, row.batch)?;
        let apart = (row.ns / longer - 1.0).abs() * 100.0;
        println!("  boost-fiber/yield: {:.2} ns, in batches ten times as long {longer:.2} ns", row.ns);
        figures.push(Figure::at_most("boost-fiber/yield, % from batches ten times as long", apart, 5.0));
    }
    if !rows.iter().any(|row| row.name == "boost-fiber/yield") {
        figures.push(Figure::skipped(
            "boost-fiber/yield",
            "it cannot be built here (apt-get install libboost-fiber-dev)",
        ));
    }
    Ok(figures)
}

struct Row {
    name: String,
    kind: String,
    ns: f64,
    batch: u64,
}

fn rows(run: &Value) -> Vec<Row> {
    let all = run["results"].as_array().into_iter().flatten();
    all.filter_map(|result| {
        Some(Row {
            name: result["probe"].as_str()?.strip_prefix("switch/")?.to_owned(),
            kind: result["params"]["kind"].as_str()?.to_owned(),
            ns: result["ns"]["estimate"].as_f64()?,
            batch: result["params"]["batch"].as_u64()?,
        })
    })
    .collect()
}

/// Nanoseconds for each switch of Boost.Fiber's yield in batches ten times as long.
fn longer(tool: &Tool, batch: u64) -> Result<f64> {
    let (run, _) = tool.json(&["switch", "boost-fiber/yield", "--no-save", "--batch-us", "3000"])?;
    let row = rows(&run).into_iter().find(|row| row.batch > 4 * batch);
    Ok(row.map_or(f64::NAN, |row| row.ns))
}
