//! A run in the formats of other tools: pure functions from the record to a file.
//!
//! What holds for every format: figures that are not finite never get out (they are absent, as in a saved
//! record); a row without a figure is absent or marked, never zero; an interval that is not known is absent;
//! strings are taken for hostile and escaped as the format wants; simulated counts are called exact where a
//! format can say so.

mod bencher;
mod benchstat;
mod chrome_trace;
mod csv;
mod diagram;
mod folded;
mod github;
mod google;
mod hdr;
mod kanata;
mod markdown;
mod o3pipeview;
mod openmetrics;
mod pprof;
mod rows;
pub(crate) mod stacks;

pub use rows::{ExportError, Exported, Format};
use rows::{format, rows};
use tollgate_record::Run;

/// Every format, in the order of the help.
pub static FORMATS: &[Format] = &[
    format("csv", "csv", "spreadsheets, data frames: everything, one line for each figure", csv::write),
    format("google-benchmark", "json", "google-benchmark's compare.py (JSON)", google::write),
    format(
        "benchstat",
        "txt",
        "Go's benchstat (benchmark text; simulated counts as exact)",
        benchstat::write,
    ),
    format("bencher", "json", "Bencher (Bencher Metric Format)", bencher::write),
    format(
        "github-action-benchmark",
        "json",
        "the GitHub action of that name (tool: customSmallerIsBetter)",
        github::write,
    ),
    format("openmetrics", "txt", "Prometheus and others (OpenMetrics text)", openmetrics::write),
    format("hdr", "hlog", "HdrHistogram's log readers: single crossings, in ns", hdr::write),
    format("chrome-trace", "json", "Perfetto, chrome://tracing, speedscope (JSON)", chrome_trace::write),
    format(
        "folded",
        "folded",
        "flamegraph.pl, inferno, speedscope: the calls of a RISC-V program (folded stacks)",
        folded::write,
    ),
    format(
        "pprof",
        "pb.gz",
        "pprof: the functions of a RISC-V program or kernel, with a core its calls (gzip'd protocol buffers)",
        pprof::write,
    ),
    format("markdown", "md", "issues and pull requests: one table", markdown::write),
    format("svg", "svg", "a page: the picture of a RISC-V stage diagram", |_, rows| {
        diagram::write(rows, "svg", diagram::svg)
    }),
    format("kanata", "kanata", "Konata: a RISC-V stage diagram (Kanata 0004)", |_, rows| {
        diagram::write(rows, "kanata", kanata::log)
    }),
    format("o3pipeview", "o3", "gem5's o3-pipeview.py and Konata: a RISC-V stage diagram", |_, rows| {
        diagram::write(rows, "o3pipeview", o3pipeview::trace)
    }),
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
        (self.write)(&run, &rows(&run))
    }
}
