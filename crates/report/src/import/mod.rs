//! Other tools' results as measurements, so that old figures stand beside new ones: pure functions from text.
//!
//! What a file does not tell is absent. A figure that came alone carries the warning `no-interval`, and what was
//! a round trip is halved where a row of ours is one switch (warning `halved`). A probe is named by the family
//! that it belongs to and by the tool's own name for it (`syscall/lmbench-null`): it is shown beside ours and
//! never taken for the same measurement.

mod core_to_core;
mod figures;
mod hyperfine;
mod lmbench;
mod perf_bench;

use std::collections::BTreeMap;
use tollgate_record::{Host, Measurement};

/// The largest file that is read, in bytes.
pub const MOST_BYTES: u64 = 64 << 20;

/// What the user says where the file is silent: `loops` to `1000000`.
pub type Told = BTreeMap<String, String>;

/// Another tool whose results can be read.
pub struct Importer {
    /// What it is called on the command line, and in the engine of each row (`imported-lmbench`).
    pub name: &'static str,
    /// What it reads.
    pub what: &'static str,
    /// Whether a text looks like this.
    detect: fn(&str) -> bool,
    read: fn(&str, &Told) -> Result<Imported, ImportError>,
}

/// Every importer, in the order in which they are tried.
pub static IMPORTERS: &[Importer] =
    &[hyperfine::IMPORTER, lmbench::IMPORTER, perf_bench::IMPORTER, core_to_core::IMPORTER];

/// What a file held.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// One for each figure.
    pub results: Vec<Measurement>,
    /// What the file tells of its host; everything else is absent.
    pub host: Host,
    /// Results of the file that have no place here (bandwidths, arithmetic), by the tool's own names.
    pub ignored: Vec<String>,
}

/// Why a file gives no run. Each reads as a clause after the file's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// Nothing in it.
    #[error("it is empty")]
    Empty,
    /// Not UTF-8.
    #[error("it is not text: byte {0} is none of UTF-8")]
    NotText(usize),
    /// No importer knows it.
    #[error("its format is not known; the formats that can be read are {}; name one with --format", names())]
    Unknown,
    /// Of a known format, but without a result that can be used.
    #[error("it holds no result of {format}: {why}")]
    Nothing {
        /// The format.
        format: &'static str,
        /// What was looked for.
        why: String,
    },
    /// A place that does not hold to the format.
    #[error("it does not hold to the format {format}: {what}")]
    Wrong {
        /// The format.
        format: &'static str,
        /// What is wrong, and where.
        what: String,
    },
}

fn names() -> String {
    let names: Vec<&str> = IMPORTERS.iter().map(|importer| importer.name).collect();
    names.join(", ")
}

impl Importer {
    /// The importer of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        IMPORTERS.iter().find(|importer| importer.name == name)
    }

    /// The first that knows the text.
    fn of(text: &str) -> Option<&'static Self> {
        IMPORTERS.iter().find(|importer| (importer.detect)(text))
    }
}

/// Reads a file's bytes with the importer that is given, or with the one that knows them.
///
/// # Errors
/// Any [`ImportError`].
pub fn import(
    bytes: &[u8],
    importer: Option<&'static Importer>,
    told: &Told,
) -> Result<(&'static Importer, Imported), ImportError> {
    let text = std::str::from_utf8(bytes).map_err(|error| ImportError::NotText(error.valid_up_to()))?;
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err(ImportError::Empty);
    }
    let importer = importer.or_else(|| Importer::of(text)).ok_or(ImportError::Unknown)?;
    let imported = (importer.read)(text, told)?;
    if imported.results.is_empty() {
        let why = "none of its lines is a latency that has a place here".to_owned();
        return Err(ImportError::Nothing { format: importer.name, why });
    }
    Ok((importer, imported))
}
