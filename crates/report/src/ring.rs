//! The ring: one row for each cell.
use crate::style::Style;
use tollgate_record::Run;

/// x
pub fn ring(run: &Run, style: &Style) -> String { crate::ladder::ladder(run, style) }
