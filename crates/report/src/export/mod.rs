//! A run in the formats of other tools: pure functions from the record to text.
//!
//! What holds for every format: figures that are not finite never get out (they are absent, as in a saved
//! record); a row without a figure is absent or marked, never zero; an interval that is not known is absent;
//! strings are taken for hostile and escaped as the format wants; simulated counts are called exact where a
//! format can say so.

mod bencher;
mod benchstat;
mod chrome_trace;
mod csv;
mod github;
mod google;
mod hdr;
mod kanata;
mod markdown;
mod o3pipeview;
mod openmetrics;
mod rows;
mod stage_svg;

use rows::{ExportRow, rows};
use tollgate_record::Run;

/// Another tool's format.
pub struct Format {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What reads it.
    pub what: &'static str,
    /// How the name of a file of it usually ends.
    pub extension: &'static str,
    /// The writer. Only rows that it cannot hold are in [`Exported::left_out`].
    write: fn(&Run, &[ExportRow<'_>]) -> Result<Exported, ExportError>,
}

/// Every format, in the order of the help.
pub static FORMATS: &[Format] = &[
    csv::FORMAT,
    google::FORMAT,
    benchstat::FORMAT,
    bencher::FORMAT,
    github::FORMAT,
    openmetrics::FORMAT,
    hdr::FORMAT,
    chrome_trace::FORMAT,
    markdown::FORMAT,
    stage_svg::FORMAT,
    kanata::FORMAT,
    o3pipeview::FORMAT,
];

/// A run as another tool's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// The text, with a newline at its end.
    pub text: String,
    /// Measured rows that the format cannot hold, each with the reason. Rows that were skipped or failed are
    /// not among them.
    pub left_out: Vec<(String, String)>,
}

/// Why a run cannot be had in a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// Nothing in the run suits the format, and a file without anything would not be read.
    #[error("the run has nothing for the format {format}: {why}")]
    Nothing {
        /// The format.
        format: &'static str,
        /// What is missing.
        why: &'static str,
    },
    /// A writer that failed; nothing is known to make it.
    #[error("the run cannot be written as {format}: {what}")]
    Unwritable {
        /// The format.
        format: &'static str,
        /// What the writer said.
        what: String,
    },
}

impl Format {
    /// The format of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// The run in this format.
    ///
    /// # Errors
    /// [`ExportError::Nothing`] where an empty document would be no document.
    pub fn export(&self, run: &Run) -> Result<Exported, ExportError> {
        let run = run.without_non_finite();
        let rows = rows(&run);
        (self.write)(&run, &rows)
    }
}

/// JSON as text with a newline.
fn json(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

/// A number that reads back as itself, without a fraction where there is none.
fn number(x: f64) -> String {
    let text = format!("{x:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
