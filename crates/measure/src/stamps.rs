//! Single crossings with stamps at their cuts: the processor's counter in user mode, the kernel's clock
//! inside the kernel, and what maps one to the other.
//!
//! The kernel stamps in nanoseconds of CLOCK_MONOTONIC_RAW, user mode in ticks. An [`Anchor`] is a moment
//! known on both; between two anchors the clocks are taken to run evenly, so a drift of either over a run
//! does no harm as long as anchors are taken often.

mod event;
mod program;
mod ring;
mod tracepoint;

pub use event::{KernelEvent, KernelEvents};
pub use ring::{KernelStamp, Taken, parse};
pub use tracepoint::{TracedEvent, Tracepoint};

use crate::clock::{Now, monotonic_raw_ns};
use crate::refusal::Refusal;
use crate::stats::median;

/// Something in the kernel that stamps crossings of the calling thread while it is on.
pub trait Stamper {
    /// Switches the stamping on.
    ///
    /// # Errors
    /// The system's error, or a skip where it is refused.
    fn enable(&mut self) -> Result<(), Refusal>;

    /// Switches it off.
    ///
    /// # Errors
    /// The system's error.
    fn disable(&mut self) -> Result<(), Refusal>;

    /// Takes every stamp since the last call, in the order of time, on CLOCK_MONOTONIC_RAW.
    fn take(&mut self) -> Taken;
}

/// One moment of a crossing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// By user mode, in ticks of the clock that times.
    User(u64),
    /// By the kernel, in nanoseconds of CLOCK_MONOTONIC_RAW.
    Kernel(u64),
}

/// A stretch between two stamps of one crossing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Where it begins.
    pub from: Stamp,
    /// Where it ends.
    pub to: Stamp,
}

impl Span {
    /// From one stamp of user mode to another.
    pub fn user(from: u64, to: u64) -> Self {
        Self { from: Stamp::User(from), to: Stamp::User(to) }
    }

    /// From user mode to a stamp of the kernel's.
    pub fn into_kernel(from: u64, to_ns: u64) -> Self {
        Self { from: Stamp::User(from), to: Stamp::Kernel(to_ns) }
    }

    /// From a stamp of the kernel's back to user mode.
    pub fn out_of_kernel(from_ns: u64, to: u64) -> Self {
        Self { from: Stamp::Kernel(from_ns), to: Stamp::User(to) }
    }
}

/// A reading of the system's clock between two of the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bracket {
    /// The counter before.
    pub before: u64,
    /// CLOCK_MONOTONIC_RAW.
    pub ns: u64,
    /// The counter after.
    pub after: u64,
}

/// A moment known on both clocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Anchor {
    /// The counter.
    pub ticks: f64,
    /// CLOCK_MONOTONIC_RAW in nanoseconds.
    pub ns: f64,
    /// Width of the brackets that it is the middle of, in ticks, less what two stamps take by themselves.
    pub width: f64,
}

/// Brackets that an anchor is made of.
const BRACKETS: usize = 64;

impl Anchor {
    /// The present moment.
    pub fn now(now: Now) -> Option<Self> {
        let mut brackets = [Bracket { before: 0, ns: 0, after: 0 }; BRACKETS];
        for bracket in &mut brackets {
            let before = now();
            let ns = monotonic_raw_ns();
            *bracket = Bracket { before, ns, after: now() };
        }
        // The reading is after the first stamp and before the second, not inside of them.
        let pair = pair_ticks(now);
        Self::of(&brackets).map(|it| Self { width: (it.width - pair).max(0.0), ..it })
    }

    /// From the tighter quarter of the brackets: the middle of each is the moment of its reading, and
    /// their mean is finer than the whole nanoseconds of the system's clock. Brackets that ran backwards are
    /// ignored; `None` when there is no other.
    pub fn of(brackets: &[Bracket]) -> Option<Self> {
        let mut usable: Vec<(u64, &Bracket)> =
            brackets.iter().filter_map(|it| Some((it.after.checked_sub(it.before)?, it))).collect();
        usable.sort_by_key(|(width, _)| *width);
        usable.truncate(usable.len().div_ceil(4));
        let (_, first) = usable.first()?;
        // Sums of differences from the first, because whole moments do not fit into a float.
        let (mut ticks, mut ns, mut width) = (0.0, 0.0, 0.0);
        for (wide, it) in &usable {
            ticks += it.before.wrapping_sub(first.before) as i64 as f64 + *wide as f64 / 2.0;
            ns += it.ns.wrapping_sub(first.ns) as i64 as f64;
            width += *wide as f64;
        }
        let count = usable.len() as f64;
        Some(Self {
            ticks: first.before as f64 + ticks / count,
            ns: first.ns as f64 + ns / count,
            width: width / count,
        })
    }
}

/// Maps the kernel's stamps between two anchors to the counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mapping {
    first: Anchor,
    rate: f64,
    /// Half the width of the wider bracket, in ticks: by so much the moment of an anchor may be wrong.
    pub doubt: f64,
}

impl Mapping {
    /// `None` when the anchors are not in order.
    pub fn between(first: Anchor, last: Anchor) -> Option<Self> {
        let (ticks, ns) = (last.ticks - first.ticks, last.ns - first.ns);
        let forward = ticks > 0.0 && ns > 0.0;
        forward.then(|| Self { first, rate: ticks / ns, doubt: first.width.max(last.width) / 2.0 })
    }

    /// A stamp in ticks since the first anchor. Both of the kernel's readings are cut to whole nanoseconds,
    /// the anchor's and the stamp's, so that the cut drops out on average.
    pub fn ticks(&self, stamp: Stamp) -> f64 {
        match stamp {
            Stamp::User(ticks) => ticks as f64 - self.first.ticks,
            Stamp::Kernel(ns) => (ns as f64 - self.first.ns) * self.rate,
        }
    }

    /// The moment of a count of the counter, in nanoseconds of CLOCK_MONOTONIC_RAW.
    pub fn ns(&self, ticks: u64) -> f64 {
        self.first.ns + (ticks as f64 - self.first.ticks) / self.rate
    }

    /// Length of a span in ticks. `pair` ticks are what two stamps of user mode with nothing between them
    /// take; half of it belongs to each of them.
    pub fn length(&self, span: Span, pair: f64) -> f64 {
        let cost = |stamp| if matches!(stamp, Stamp::User(_)) { pair / 2.0 } else { 0.0 };
        self.ticks(span.to) - self.ticks(span.from) - cost(span.to) - cost(span.from)
    }
}

/// Stamps in a row, to measure the time of one.
const ROW: usize = 100;
/// Rows, of which an interrupt may lengthen one.
const ROWS: usize = 5;

/// Ticks from one stamp of user mode to the next with nothing between them. Some counters advance by 26 ticks at once, so
/// that a single difference is wrong by as much; the mean of a row is not.
pub fn pair_ticks(now: Now) -> f64 {
    let row = || {
        let first = now();
        let last = (0..ROW).fold(first, |_, _| now());
        last.checked_sub(first).map(|ticks| ticks as f64 / ROW as f64)
    };
    let rows: Vec<f64> = (0..ROWS).filter_map(|_| row()).collect();
    if rows.is_empty() { 0.0 } else { median(&rows) }
}

#[cfg(test)]
mod tests;
