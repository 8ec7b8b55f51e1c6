//! Profiles as text.

mod profile;
mod words;

pub use profile::profile;
pub use words::grouped;
