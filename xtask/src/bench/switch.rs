//! The promised figures of `tollgate switch`.

use super::figures::{Figure, at_most, median, ns, skipped};
use crate::tool::Tool;
use anyhow::Result;
use tollgate_record::Asked;

/// Pairs of measurements of Boost.Fiber: one pair shows changes of the core's frequency rather than the batches.
const PAIRS: usize = 5;

/// The time of the default table, our own switch beside the other stackful ones, and Boost.Fiber in longer batches.
pub(super) fn switch(tool: &Tool) -> Result<Vec<Figure>> {
    // Builds the runtimes, so that the next call measures only.
    tool.run(&["switch", "--quick"])?;
    let (run, seconds) = tool.run(&["switch"])?;
    let mut figures = vec![at_most("tollgate switch, seconds once built", seconds, 90.0)];
    let others = run.results.iter().filter_map(|row| {
        let stackful = matches!(&row.asked, Asked::Runtime(asked) if asked.kind == "stackful");
        let name = row.probe.strip_prefix("switch/").filter(|name| stackful && !name.starts_with("own/"))?;
        Some((name, row.ns?.estimate))
    });
    figures.push(match others.min_by(|a, b| a.1.total_cmp(&b.1)) {
        Some((best, bound)) => {
            let what = format!("own/jmp, ns, beside {best} which is the fastest other stackful row");
            at_most(&what, ns(&run, "switch/own/jmp").map_or(f64::NAN, |it| it.estimate), bound)
        }
        None => skipped("own/jmp beside others", "no other stackful runtime can be built"),
    });
    figures.push(if ns(&run, "switch/boost-fiber/yield").is_some() {
        let pairs: Vec<[f64; 2]> = (0..PAIRS).map(|_| pair(tool)).collect::<Result<_>>()?;
        println!("  boost-fiber/yield in batches of 0.3 and of 3 ms, ns, alternately: {pairs:.2?}");
        let middle = |which: usize| median(pairs.iter().map(|pair| pair[which]).collect());
        let apart = (middle(0) / middle(1) - 1.0).abs() * 100.0;
        at_most("boost-fiber/yield, medians, % from batches ten times as long", apart, 5.0)
    } else {
        skipped("boost-fiber/yield", "it cannot be built here (apt-get install libboost-fiber-dev)")
    });
    Ok(figures)
}

/// Nanoseconds per switch of Boost.Fiber's yield, in batches of the default length and ten times as long.
fn pair(tool: &Tool) -> Result<[f64; 2]> {
    let mut both = [f64::NAN; 2];
    for (figure, batch_us) in both.iter_mut().zip(["300", "3000"]) {
        let (run, _) = tool.run(&["switch", "boost-fiber/yield", "--batch-us", batch_us])?;
        *figure = ns(&run, "switch/boost-fiber/yield").map_or(f64::NAN, |it| it.estimate);
    }
    Ok(both)
}
