//! Stage diagrams, what each shows in a sentence, and the latencies of an interrupt.

use super::words::warnings;
use crate::notes::absent;
use crate::sheet::{Sheet, drawn, painted, prose, sketch};
use crate::stages::{MOST, draw, sentence};
use crate::style::{Paint, Style};
use crate::text::clean;
use tollgate_record::number::{mean, whole};
use tollgate_record::{Measurement, Run, counter};

/// Marks of the longest bar of the distribution.
const WIDEST: f64 = 40.0;

pub(super) fn view(run: &Run, style: &Style) -> Sheet {
    let mut text = Sheet::new();
    for result in &run.results {
        if let Some(diagram) = &result.stages {
            let core = result.asked.pipeline().map_or("-", |asked| &asked.core);
            text.extend(painted(Paint::Bold, clean(core, style)));
            text.blank();
            text.extend(sketch(None, draw(&diagram.rows[..diagram.rows.len().min(MOST)], style)));
            text.blank();
            text.extend(prose(clean(&sentence(result), style), ""));
        }
        text.extend(distribution(result, style));
    }
    text.extend(warnings(run, style, &[]));
    text.extend(absent(&run.results, style).iter().flat_map(|why| prose(why, "")));
    text
}

/// The latencies at every cycle of the loop.
fn distribution(result: &Measurement, style: &Style) -> Sheet {
    let (Some(series), Some(cycles)) = (result.series.iter().find(|it| it.name == "latency"), &result.cycles)
    else {
        return Sheet::new();
    };
    let points: Vec<[f64; 2]> =
        series.points.iter().copied().filter(|point| point.iter().all(|x| x.is_finite())).collect();
    let most = points.iter().map(|point| point[1]).fold(WIDEST, f64::max);
    let all: f64 = points.iter().map(|point| point[1]).sum();
    let fetch = result.counter(counter::FIRST_FETCH_MIN);
    let fetch = fetch.map(|cycles| format!(" (to its fetch, as core manuals count: min {})", mean(cycles)));
    let title = format!(
        "Interrupt latency over all {} cycles of the loop, to the retirement of the handler's first \
         instruction: min {}, median {}, mean {:.2}, max {} cycles{}. Cycles of latency, how often each:",
        whole(all),
        mean(cycles.min),
        mean(cycles.p50),
        cycles.mean,
        mean(points.last().map_or(cycles.p99, |point| point[0])),
        fetch.unwrap_or_default()
    );
    let mut text = Sheet::new();
    text.blank();
    text.extend(prose(title, ""));
    let mut bars = Vec::new();
    let room = (style.columns().saturating_sub(20) as f64).min(WIDEST);
    // Neighbors that come equally often share a line: most of a loop waits behind one long operation.
    for same in points.chunk_by(|one, next| one[0] + 1.0 == next[0] && one[1] == next[1]) {
        let (first, last, count) = (same[0][0], same[same.len() - 1][0], same[0][1]);
        let shown = if first == last { mean(first) } else { format!("{} to {}", mean(first), mean(last)) };
        let marks = (count * WIDEST / most).ceil().clamp(0.0, room) as usize;
        bars.push(format!("{shown:>12}{:>6}  {}", whole(count), "#".repeat(marks)).trim_end().to_owned());
    }
    text.extend(drawn(bars));
    text
}
