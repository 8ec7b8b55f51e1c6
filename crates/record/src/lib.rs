//! The document of a run.
//!
//! One command writes one [`Run`]: the tool, the [`Host`], the seed, and one
//! [`Measurement`] for each probe, measured, skipped or failed. Views, comparisons and exports read this document alone.
//!
//! Units are in the names: `ns` are nanoseconds, `ticks` are periods of the time-stamp counter,
//! `cycles` are periods of the core's own clock (or simulated cycles, where `engine` says so).

pub mod document;
mod estimate;
pub mod family;
#[cfg(unix)]
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
#[cfg(unix)]
pub mod store;
pub mod text;
#[cfg(unix)]
pub mod trust;
pub mod vocabulary;
#[cfg(not(unix))]
mod without_files;
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
#[cfg(unix)]
pub use store::{Store, StoreError};
pub use vocabulary::{
    CauseName, Counter, PhaseName, WarningKind, cause, counter, phase, phase_words, warning,
};
#[cfg(not(unix))]
pub use without_files::{file, trust};
pub use yardstick::{Regression, TypicalFigure};
