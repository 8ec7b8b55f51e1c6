//! The model against the RTL of cores: programs, when their instructions retired in the RTL, and how far the model is off.

mod corpus;
#[cfg(test)]
mod equal;
mod error;
pub mod golden;
mod interrupts;
mod kernels;
mod latency;
mod program;
mod proof;
mod random;
mod record;
mod replay;
mod score;
#[cfg(test)]
mod seeds;
mod subject;
mod traps;
mod whole;

pub use error::RtlError;
pub use program::{Part, Program, Raise};
pub use proof::proof;
pub use record::validation;
pub use replay::Cycles;
pub use score::{Compared, PhaseScore, Score, Summary};
pub use subject::{SUBJECTS, Subject};
