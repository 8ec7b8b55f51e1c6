//! The first stage diagram of a run as a picture.

use super::format::{ExportError, Exported, Format};
use super::rows::ExportRow;
use crate::stages::{MOST, picture, picture_title, sentence};
use tollgate_record::{Measurement, Run, StageRow};

pub(super) const FORMAT: Format =
    Format { name: "svg", what: "a page: the picture of a RISC-V stage diagram", extension: "svg", write };

fn write(run: &Run, rows: &[ExportRow<'_>]) -> Result<Exported, ExportError> {
    let (result, stages) = diagram(run, FORMAT.name)?;
    let text = picture(stages, &picture_title(result), &sentence(result));
    Ok(Exported { text, left_out: without_diagram(rows) })
}

/// The first result with a stage diagram, and its rows.
pub(super) fn diagram<'a>(
    run: &'a Run,
    format: &'static str,
) -> Result<(&'a Measurement, &'a [StageRow]), ExportError> {
    run.results
        .iter()
        .find_map(|result| {
            let rows = &result.stages.as_ref()?.rows;
            (!rows.is_empty()).then(|| (result, &rows[..rows.len().min(MOST)]))
        })
        .ok_or(ExportError::Nothing { format, why: "only 'tollgate riscv pipeline' makes stage diagrams" })
}

/// The measured rows that are not the diagram.
pub(super) fn without_diagram(rows: &[ExportRow<'_>]) -> Vec<(String, String)> {
    let mut drawn = false;
    rows.iter()
        .filter(|row| row.result.status == tollgate_record::Status::Measured)
        .filter(|row| {
            let is_first = !drawn && row.result.stages.as_ref().is_some_and(|it| !it.rows.is_empty());
            drawn |= is_first;
            !is_first
        })
        .map(|row| (row.name.clone(), "it is not the stage diagram".into()))
        .collect()
}
