//! A comparison, drawn.

mod markdown;
mod table;

pub use markdown::comparison_markdown;
pub use table::comparison;

#[cfg(test)]
mod tests;
