//! A switch and its refill over the footprint, with the caches marked.

use super::cell::{footprint, procs, switch};
use crate::plot::{Plot, SIGNS, figure, has_place};
use crate::style::Style;
use tollgate_record::Measurement;
use tollgate_record::host::Cache;
use tollgate_record::number::size;

/// Numbers of tasks that have a sign of their own.
const MOST: usize = 8;

pub(super) fn plot(cells: &[&Measurement], caches: &[Cache], style: &Style) -> Vec<String> {
    let mut known: Vec<f64> = Vec::new();
    let mut dots = Vec::new();
    for cell in cells {
        let (x, Some(y)) = (footprint(cell), switch(cell)) else { continue };
        if !has_place(x, y) {
            continue;
        }
        let at = known.iter().position(|there| *there == procs(cell)).unwrap_or_else(|| {
            known.push(procs(cell));
            known.len() - 1
        });
        dots.push((x, y, SIGNS[at % MOST]));
    }
    let marks = caches.iter().filter(|cache| cache.kind != "Instruction");
    let marks = marks.map(|cache| (cache.bytes as f64, format!("L{}", cache.level.min(9))));
    let legend: Vec<String> =
        known.iter().zip(SIGNS).take(MOST).map(|(procs, sign)| format!("{sign} {}", size(*procs))).collect();
    let plot = Plot {
        title: "Switch and refill (total less hot work), ns, over the footprint N x S",
        dots,
        marks: Some(marks.collect()),
        labels: [size, figure],
        legend: format!("tasks: {}", legend.join("  ")),
    };
    plot.lines(style)
}
