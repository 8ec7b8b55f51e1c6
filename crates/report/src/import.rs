//! Other tools' results as measurements, so that old figures can be compared with new ones: pure functions from text.
//!
//! What a file does not tell is absent. A figure that came alone carries the warning `no-interval`, and what was
//! a round trip is halved where a row of ours is one switch (warning `halved`). A probe is named by the family
//! that it belongs to and by the tool's own name for it (`syscall/lmbench-null`): it is shown beside ours and
//! never taken for the same measurement.

mod core_to_core;
mod figures;
mod hyperfine;
mod lmbench;
mod number;
mod perf_bench;

use std::path::Path;
use tollgate_record::document::{self, DocumentError};

pub use figures::{ImportError, Imported, Importer, Told};

/// The largest file that is read, in bytes.
pub const MOST_BYTES: u64 = 64 << 20;

/// Every importer, in the order in which they are tried.
pub static IMPORTERS: &[Importer] =
    &[hyperfine::IMPORTER, lmbench::IMPORTER, perf_bench::IMPORTER, core_to_core::IMPORTER];

impl Importer {
    /// The importer of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        IMPORTERS.iter().find(|importer| importer.name == name)
    }
}

/// A fact that the user gives, `KEY=VALUE`.
///
/// # Errors
/// What is not a fact that an importer looks for.
pub fn told(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key @ ("loops" | "bench" | "cpus"), value)) if !value.is_empty() => {
            Ok((key.into(), value.into()))
        }
        _ => Err("it is loops=N, bench=NAME or cpus=LIST, for example loops=1000000 or cpus=0,2-5".into()),
    }
}

/// Refuses a run of ours, which needs no import.
///
/// # Errors
/// A sentence that names the file.
pub fn check_foreign(file: &Path, bytes: &[u8]) -> Result<(), String> {
    let name = file.display();
    match document::from_json(bytes) {
        Ok(_) => {
            let file = if file.as_os_str() == "-" { Path::new("FILE") } else { file };
            let place = if file.components().count() > 1 { "" } else { "./" };
            let file = file.display();
            Err(format!(
                "{name} is a tollgate run already and needs no import; to print it: tollgate show {place}{file}"
            ))
        }
        // Cut JSON may be of another tool.
        Err(
            DocumentError::Empty
            | DocumentError::NotJson(..)
            | DocumentError::NotARecord
            | DocumentError::Truncated(_),
        ) => Ok(()),
        Err(error) => Err(format!("cannot import {name}: {error}")),
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
    let detected = || IMPORTERS.iter().find(|importer| (importer.detect)(text));
    let unknown = || {
        let names: Vec<&str> = IMPORTERS.iter().map(|importer| importer.name).collect();
        ImportError::Unknown(names.join(", "))
    };
    let importer = importer.or_else(detected).ok_or_else(unknown)?;
    let imported = (importer.read)(text, told).map_err(|what| ImportError::Wrong(importer.name, what))?;
    if imported.results.is_empty() {
        return Err(ImportError::Nothing(importer.name));
    }
    Ok((importer, imported))
}
