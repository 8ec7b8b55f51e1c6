//! A comparison, drawn.

mod table;

pub use table::comparison;
pub(crate) use table::{sheet, summary};

#[cfg(test)]
mod tests;
