//! What would save: lines that follow from counts and prices alone.

use tollgate_record::family::Saving;
use tollgate_record::{Estimate, Measurement, phase};

/// Fewer crossings than this are not worth a line.
const WORTH: u64 = 100;
/// Small pages in a huge one.
const HUGE: u64 = 512;
/// Bytes that a buffer holds in place of one.
const BUFFER: u64 = 4096;
/// Calls that the C library answers in user mode where it can.
const CLOCKS: [&str; 3] = ["clock_gettime", "gettimeofday", "time"];

/// Every line that the rows of the boundaries give, the largest first. `vdso` is the price of a clock that is read in user
/// mode.
pub(crate) fn savings(boundaries: &[Measurement], vdso: Option<Estimate>) -> Vec<Saving> {
    let mut all: Vec<Saving> = boundaries.iter().flat_map(|row| of_row(row, vdso)).collect();
    let least = |it: &Saving| (it.each_ns[0] - it.instead_ns) * it.crossings as f64;
    all.retain(|it| it.crossings >= WORTH && least(it) > 0.0);
    all.sort_by(|a, b| least(b).total_cmp(&least(a)));
    all
}

fn of_row(row: &Measurement, vdso: Option<Estimate>) -> Option<Saving> {
    let (toll, count) = (row.found.toll()?, row.crossings);
    let each = |name| Some(row.phase(name)?.ns?.estimate / count.max(1) as f64);
    let price = each(phase::TOLL)?;
    let whole = price + each(phase::KERNEL_WORK).unwrap_or(0.0).max(0.0);
    let line = |change: String, crossings: u64, each_ns, instead_ns| {
        Some(Saving { change, crossings, each_ns, instead_ns })
    };
    match (toll.kind.as_str(), toll.name.as_str()) {
        ("system call", name) if CLOCKS.contains(&name) => {
            let change = format!("{name} enters the kernel; read the clock in user mode (vDSO)");
            line(change, count, [whole; 2], vdso?.estimate)
        }
        ("system call", name) => {
            let bytes = toll.one_byte.filter(|bytes| *bytes > 0)?;
            let change = format!("{name} moves one byte at a time; use a buffer of {BUFFER} bytes");
            line(change, bytes - bytes / BUFFER, [price, whole], 0.0)
        }
        // The memory is cleared in any case, so that at least the way in and out is saved.
        ("fault", "anonymous") => {
            let change = "first writes to small pages; use huge pages (madvise MADV_HUGEPAGE)".into();
            line(change, count - count / HUGE, [price, whole], 0.0)
        }
        ("fault", "file") => {
            let change =
                "pages of files are mapped one fault after another; map them at once (MAP_POPULATE)".into();
            line(change, count, [price, whole], 0.0)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_record::family::{Found, TollFound};
    use tollgate_record::{Evidence, Per, Phase, Status};

    fn row(kind: &str, name: &str, count: u64, one_byte: Option<u64>, toll: f64, work: f64) -> Measurement {
        let mut row = Measurement::empty("exec/x", "host", Per::Run, Status::Measured);
        row.crossings = count;
        row.found =
            Found::Toll(TollFound { kind: kind.into(), name: name.into(), one_byte, ..TollFound::default() });
        for (name, each) in [(phase::TOLL, toll), (phase::KERNEL_WORK, work)] {
            let ns = Some(Estimate::point(each * count as f64));
            row.phases.push(Phase { ns, ..Phase::new(name, Evidence::Priced) });
        }
        row
    }

    #[test]
    fn lines_follow_from_counts_and_prices() {
        let rows = [
            row("system call", "read", 10_000, Some(8_192), 100.0, 50.0),
            row("system call", "write", 10_000, None, 100.0, 50.0),
            row("system call", "clock_gettime", 1_000, None, 100.0, 80.0),
            row("fault", "anonymous", 1_024, None, 600.0, 1_000.0),
            row("fault", "anonymous", 90, None, 600.0, 1_000.0),
        ];
        let lines = savings(&rows, Some(Estimate::point(30.0)));
        let figures: Vec<(u64, [f64; 2], f64)> =
            lines.iter().map(|it| (it.crossings, it.each_ns, it.instead_ns)).collect();
        // 8,192 bytes in two reads; 1,024 pages in two huge ones.
        assert_eq!(
            figures,
            [(8_190, [100.0, 150.0], 0.0), (1_022, [600.0, 1_600.0], 0.0), (1_000, [180.0; 2], 30.0)]
        );
    }

    #[test]
    fn without_a_price_there_is_no_line() {
        let mut rows = [row("fault", "anonymous", 1_024, None, 600.0, 1_000.0)];
        rows[0].phases.clear();
        assert!(savings(&rows, None).is_empty());
    }
}
