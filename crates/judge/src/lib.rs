//! Conclusions from several records: verdicts of comparisons, change points, fleets of hosts, and when a comparison can stop.
//!
//! Everything here is a pure function of records and of logarithms of figures: no clock, no file, no drawing.

mod compare;
mod fleet;
mod guest;
mod history;
mod kernels;
mod sequence;
mod stats;
mod yardstick;

pub use compare::{
    Adjustment, CONTROLS_ACROSS, CompareError, ComparedProbe, Comparison, Counter, Difference, Explained,
    FROM_THE_KERNEL, Largest, MARGIN, Options, OtherWay, Part, Sees, Side, Summary, Verdict, Weight,
    comparable, compare, essentials,
};
pub use fleet::{
    Alike, AlikeProbe, Companion, Fleet, FleetError, FleetHost, HostDifference, HostFigure, LEAST_ALIKE,
    ProbeName, SharedFact, fleet,
};
pub use guest::{GuestComparison, Moved, guest};
pub use history::{Change, Group, History, Point, Series, history};
pub use kernels::{CrossingComparison, KernelComparison, kernels};
pub use sequence::{LEAST_OF_PAIRS, SEQUENCE_MISSES, confidence_sequence, is_decided};
pub use stats::median;
pub use yardstick::{BatchBeside, Fit, regression};
