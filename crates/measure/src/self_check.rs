//! The harness measured by itself: things whose length is known.

use crate::arch;
use crate::bench::{Bench, Reply, Request};
use crate::clock::{Counter, Os, Source};
use crate::local::Local;
use crate::probe::Site;
use crate::stats::median;

/// A measurement of the harness by itself, and the expected value.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct SelfCheck {
    /// Ticks of an empty pair of clock readings, median.
    pub pair_ticks: f64,
    /// Core frequency by a chain of dependent multiplies, Hz.
    pub core_hz: f64,
    /// Core cycles of 1,000 dependent multiplies timed as a batch is, where one cycle is the time of a
    /// dependent addition, independent of our own frequency; 1,000 times [`arch::MULTIPLY_CYCLES`].
    pub thousand_multiplies: f64,
    /// The expected value.
    pub expected: f64,
}

/// Checks the harness on the calling thread, which should be pinned. `None` where the architecture's
/// latencies are not known.
pub fn self_check(source: Source) -> Option<SelfCheck> {
    let nowhere = Site { cpu: 0, peer: None };
    match source {
        Source::Counter => check(&mut Local::new(Counter, &[], nowhere)),
        Source::Os => check(&mut Local::new(Os, &[], nowhere)),
    }
}

fn check(bench: &mut impl Bench) -> Option<SelfCheck> {
    let mut ask = |request| bench.ask(&request).ok();
    let (Reply::Moment(first), Reply::Core { multiply, add, thousand, pair }, Reply::Moment(last)) =
        (ask(Request::Moment)?, ask(Request::Core)?, ask(Request::Moment)?)
    else {
        return None;
    };
    let scale = first.scale_until(&last)?;
    let pair: Vec<f64> = pair.iter().map(|&ticks| ticks as f64).collect();
    let cycles: Vec<f64> = thousand.iter().zip(&add).map(|(thousand, add)| thousand / add).collect();
    Some(SelfCheck {
        pair_ticks: median(&pair),
        core_hz: arch::MULTIPLY_CYCLES? / median(&multiply) * scale.hz,
        thousand_multiplies: median(&cycles),
        expected: 1_000.0 * arch::MULTIPLY_CYCLES?,
    })
}
