//! Tolls of both sides at one price. On one machine a crossing costs the same in two programs, and what their records have
//! differs because the machine's speed does.

use crate::stats::median;
use std::borrow::Cow;
use std::collections::BTreeMap;
use tollgate_record::{Estimate, Measurement, Run, phase};

/// Boundaries that enter the kernel themselves. Other tolls are inside of these.
const CROSSINGS: [&str; 3] = ["system call", "fault", "signal"];

type Sides<'r> = [Cow<'r, [Run]>; 2];

/// Whether all runs are of one machine and kernel.
pub(super) fn is_one(a: &[Run], b: &[Run]) -> bool {
    a.iter().chain(b).all(|run| run.host.crosses_like(&a[0].host))
}

/// The runs with the median price of each boundary, if they are of one machine and have prices.
pub(super) fn at_one<'r>(sides: Sides<'r>) -> Sides<'r> {
    let mut prices: BTreeMap<String, Vec<[f64; 3]>> = BTreeMap::new();
    for row in sides.iter().flat_map(|side| side.iter()).flat_map(|run| &run.results) {
        if let Some(price) = row.found.toll().and_then(|toll| toll.price_ns) {
            prices.entry(row.probe.clone()).or_default().push(price);
        }
    }
    if prices.is_empty() || !is_one(&sides[0], &sides[1]) {
        return sides;
    }
    let middle =
        |all: Vec<[f64; 3]>| [0, 1, 2].map(|at| median(&all.iter().map(|it| it[at]).collect::<Vec<_>>()));
    let prices = prices.into_iter().map(|(probe, all)| (probe, middle(all))).collect();
    sides.map(|mut side| {
        side.to_mut().iter_mut().for_each(|run| reprice(run, &prices));
        side
    })
}

fn reprice(run: &mut Run, prices: &BTreeMap<String, [f64; 3]>) {
    let mut tolls = Vec::new();
    for row in &mut run.results {
        let Some(price) = prices.get(&row.probe) else { continue };
        let toll = Estimate::within(price[0], [price[1], price[2]]).scaled(row.crossings as f64);
        if !put(row, toll) {
            continue;
        }
        let parts = [phase::TOLL, phase::KERNEL_WORK].into_iter().filter_map(|name| row.phase(name)?.ns);
        row.ns = Some(Estimate::sum(parts));
        if row.found.toll().is_some_and(|it| CROSSINGS.contains(&it.kind.as_str())) {
            tolls.push(toll);
        }
    }
    for whole in run.results.iter_mut().filter(|row| row.found.exec().is_some()) {
        put(whole, Estimate::sum(tolls.iter().copied()));
    }
}

/// Replaces the toll of a row that has one.
fn put(row: &mut Measurement, toll: Estimate) -> bool {
    let phase = row.phases.iter_mut().find(|it| it.name == phase::TOLL);
    phase.map(|phase| phase.ns = Some(toll)).is_some()
}
