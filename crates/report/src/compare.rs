//! A comparison, drawn.

mod table;

pub use table::comparison;

#[cfg(test)]
mod tests;
