//! What a format is: its name, its writer and what writing it gives.

use super::rows::ExportRow;
use tollgate_record::Run;

/// Only rows that the format cannot hold are in [`Exported::left_out`].
type Write = fn(&Run, &[ExportRow<'_>]) -> Result<Exported, ExportError>;

/// Another tool's format.
pub struct Format {
    /// What it is called on the command line.
    pub name: &'static str,
    /// How the name of a file of it usually ends.
    pub extension: &'static str,
    /// What reads it.
    pub what: &'static str,
    pub(super) write: Write,
}

pub(super) const fn format(
    name: &'static str,
    extension: &'static str,
    what: &'static str,
    write: Write,
) -> Format {
    Format { name, extension, what, write }
}

/// A run as another tool's text.
#[derive(Debug)]
pub struct Exported {
    /// The text, with a newline at its end.
    pub text: String,
    /// Measured rows that the format cannot hold, each with the reason. Rows that were skipped or failed are
    /// not among them.
    pub left_out: Vec<(String, String)>,
}

impl From<String> for Exported {
    /// A text that holds every row.
    fn from(text: String) -> Self {
        Self { text, left_out: Vec::new() }
    }
}

/// Why a run cannot be written in a format.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// Nothing in the run suits the format, and a file without anything would not be read.
    #[error("the run has nothing for the format {0}: {1}")]
    Nothing(&'static str, &'static str),
    /// A writer that failed; nothing is known to make it.
    #[error("the run cannot be written as {0}: {1}")]
    Unwritable(&'static str, String),
}

/// JSON as text with a newline.
pub(super) fn json(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

/// A number that reads back as itself, without a fraction where there is none.
pub(super) fn number(x: f64) -> String {
    let text = format!("{x:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
