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
mod format;
mod github;
mod google;
mod hdr;
mod kanata;
mod markdown;
mod o3pipeview;
mod openmetrics;
mod rows;
mod stage_svg;

pub use format::{ExportError, Exported, Format};
use rows::rows;
use tollgate_record::Run;

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

impl Format {
    /// The format of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// The run in this format.
    ///
    /// # Errors
    /// [`ExportError::Nothing`] where readers refuse an empty document.
    pub fn export(&self, run: &Run) -> Result<Exported, ExportError> {
        let run = run.without_non_finite();
        let rows = rows(&run);
        (self.write)(&run, &rows)
    }
}
