//! What a measurement *is*.
//!
//! One command leaves one [`Run`]: which tool measured, on which [`Host`], with which seed, and one
//! [`Measurement`] for each probe, whether it was measured, skipped or failed. Everything that
//! shows, compares or exports works from this document alone.
//!
//! Units are in the names: `ns` are nanoseconds, `ticks` are periods of the time-stamp counter,
//! `cycles` are periods of the core's own clock (or simulated cycles, where `engine` says so).

pub mod document;
mod estimate;
pub mod family;
pub mod file;
pub mod finding;
mod finite;
pub mod host;
mod measurement;
pub mod number;
pub mod parse;
mod run;
pub mod schema;
pub mod stages;
pub mod store;
pub mod text;
pub mod trust;
pub mod vocabulary;
mod yardstick;

pub use estimate::Estimate;
pub use family::{Asked, Found};
pub use finding::{Finding, Severity};
pub use host::Host;
pub use measurement::{
    EpochFigure, Evidence, Measurement, Outliers, PairedFigure, Per, Phase, RelativeFigure, Series, Single,
    Status, Warning,
};
pub use run::{KERNEL_YARDSTICK, Run, SCHEMA, Tool, Yardstick};
pub use stages::{StageDiagram, StageRow, StageSpan, StageSquash};
pub use store::{Store, StoreError};
pub use vocabulary::{
    CauseName, Counter, PhaseName, WarningKind, cause, counter, phase, phase_words, warning,
};
pub use yardstick::{Regression, TypicalFigure};
