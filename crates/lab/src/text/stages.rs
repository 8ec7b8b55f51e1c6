//! A saved stage diagram as text.

use std::fmt::Write;

use tollgate_record::text::printable;
use tollgate_record::{Measurement, Run};

use super::words::wrapped;
use crate::diagram::text::{Look, draw};
use crate::diagram::{Lane, MOST};

/// Marks of the longest bar of the distribution.
const WIDEST: f64 = 40.0;

/// The runs that this shows.
#[must_use]
pub fn is_stages(run: &Run) -> bool {
    !run.results.is_empty() && run.results.iter().all(|result| result.family() == "riscv-pipeline")
}

/// The diagram, what it shows in a sentence, and the interrupt's latencies where they were measured.
#[must_use]
pub fn stages(run: &Run, look: Look) -> String {
    let mut out = String::new();
    for result in &run.results {
        if let Some(diagram) = &result.stages {
            let lanes: Vec<Lane> =
                (0..).zip(diagram.rows.iter().take(MOST)).map(|(seq, row)| Lane::of(row, seq)).collect();
            let core = result.asked.pipeline().map_or("-", |asked| &asked.core);
            let _ = write!(out, "{}\n\n{}\n", printable(core), draw(&lanes, look));
            out.push_str(&wrapped(&printable(&diagram.text)));
        }
        out.push_str(&distribution(result));
    }
    for warning in run.warnings.iter().chain(run.results.iter().flat_map(|result| &result.warnings)) {
        out.push_str(&wrapped(&printable(&warning.text)));
    }
    out
}

/// The latencies at every cycle of the loop.
fn distribution(result: &Measurement) -> String {
    let (Some(series), Some(cycles)) = (result.series.iter().find(|s| s.name == "latency"), &result.cycles)
    else {
        return String::new();
    };
    let most = series.points.iter().map(|point| point[1]).fold(WIDEST, f64::max);
    let whole: f64 = series.points.iter().map(|point| point[1]).sum();
    let fetch = result.counters.get("first-fetch-min");
    let fetch = fetch.map(|cycles| format!("(to its fetch, as core manuals count: min {cycles}). "));
    let mut out = format!(
        "\nTimer interrupt latency over all {whole} cycles of the loop, to the retirement of the\nhandler's first \
         instruction: min {}, median {}, mean {:.2}, max {} cycles\n{}Cycles of latency, how often each:\n",
        cycles.min,
        cycles.p50,
        cycles.mean,
        series.points.last().map_or(cycles.p99, |point| point[0]),
        fetch.unwrap_or_default()
    );
    // Neighbours that come equally often share a line: most of a loop waits behind one long operation.
    for same in series.points.chunk_by(|one, next| one[0] + 1.0 == next[0] && one[1] == next[1]) {
        let (first, last, count) = (same[0][0], same[same.len() - 1][0], same[0][1]);
        let shown = if first == last { first.to_string() } else { format!("{first} to {last}") };
        let marks = (count * WIDEST / most).ceil().clamp(0.0, WIDEST) as usize;
        let _ = writeln!(out, "{shown:>12}{count:>6}  {}", "#".repeat(marks));
    }
    out
}
