//! The formats that hold one stage diagram: the first of a run.

use super::rows::{ExportError, ExportRow, Exported};
use crate::stages::{MOST, picture, picture_title, sentence};
use tollgate_record::{Measurement, StageRow};

/// The file of `format`, whose text `draw` makes of a result, its instructions and the number of the first one.
pub(super) fn write(
    rows: &[ExportRow<'_>],
    format: &'static str,
    draw: fn(&Measurement, &[StageRow], u64) -> String,
) -> Result<Exported, ExportError> {
    let drawn = rows.iter().enumerate().find_map(|(place, row)| {
        let diagram = row.result.stages.as_ref().filter(|diagram| !diagram.rows.is_empty())?;
        Some((place, row.result, diagram))
    });
    let why = "only 'tollgate riscv pipeline' makes stage diagrams";
    let (place, result, diagram) = drawn.ok_or(ExportError::Nothing(format, why))?;
    let shown = &diagram.rows[..diagram.rows.len().min(MOST)];
    let others = rows[..place].iter().chain(&rows[place + 1..]);
    let left_out = others.filter_map(|row| row.left_out("it is not the stage diagram")).collect();
    Ok(Exported::new(draw(result, shown, diagram.first_fetch), left_out))
}

pub(super) fn svg(result: &Measurement, rows: &[StageRow], _: u64) -> String {
    picture(rows, &picture_title(result), &sentence(result))
}
