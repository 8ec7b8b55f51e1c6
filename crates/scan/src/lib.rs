//! The scan of a mapped file: a process touches one byte of each page, and the record has the figures of
//! `/usr/bin/time -v`, their reasons, and the scan over time.
//!
//! [`scan`] is the supervisor's side: the file, the memory limit, one process for each size. [`touch`] runs in that process.

mod error;
mod file;
mod memory_limit;
mod plan;
mod process;
mod result;
mod touch;

pub use error::ScanError;
pub use plan::{Advice, Pattern, ScanPlan, size};
pub use touch::touch;

use file::ScannedFile;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tollgate_record::Measurement;

/// An event of [`scan`].
#[derive(Debug)]
pub enum Progress<'a> {
    /// It writes the file that it will scan; an announcement of the work and its longest time.
    Writing(String),
    /// It begins one scan of several.
    Touching {
        /// How many scans have ended.
        done: usize,
        /// How much of the file this one scans.
        bytes: u64,
    },
    /// The results so far, with the current scan; worth saving.
    Measured(&'a [Measurement]),
}

/// Measures each size of the plan, in order. `stop` ends it early with the results so far.
///
/// # Errors
/// A plan that cannot be followed here, or a system that refuses a call of the scan. A scan that fails is a
/// failed measurement, not an error.
pub fn scan(
    plan: &ScanPlan,
    stop: &AtomicBool,
    report: &mut dyn FnMut(Progress<'_>),
) -> Result<(), ScanError> {
    memory_limit::remove_leftovers();
    let limit = plan.memory_limit.map(memory_limit::find).transpose()?;
    let largest = plan.sizes.iter().copied().max().unwrap_or_default();
    report(Progress::Writing(plan.announced()));
    let Some(file) = ScannedFile::open(plan.file.as_deref(), largest, stop)? else { return Ok(()) };
    let (mut results, begin) = (Vec::new(), Instant::now());
    for (at, &bytes) in plan.sizes.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        report(Progress::Touching { done: results.len(), bytes });
        if !plan.warm {
            file.drop_from_cache()?;
        }
        // Later scans share the unused time of a scan.
        let left = plan.time.saturating_sub(begin.elapsed()) / (plan.sizes.len() - at) as u32;
        let most_ns = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
        let row = |ended| result::measurement(plan, bytes, &file, limit.as_ref(), ended);
        let ended = process::run(plan, bytes, &file, limit.as_ref(), most_ns, stop, &mut |so_far| {
            report(Progress::Measured(&[&results[..], &[row(so_far)]].concat()));
        })?;
        results.push(row(ended));
        report(Progress::Measured(&results));
    }
    Ok(())
}
