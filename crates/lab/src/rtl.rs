//! The model against the RTL of cores: programs, when their instructions retired in the RTL, and how far the model is off.

mod corpus;
mod error;
pub mod golden;
mod record;
mod score;

pub use corpus::{Program, SUBJECTS, Subject};
pub use error::RtlError;
pub use record::validation;
pub use score::{Compared, Cycles, Score, Summary};
