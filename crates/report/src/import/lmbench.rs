//! lmbench: what its programs print, the raw results of a whole run, and the tables of its summary.

use super::figures::{Imported, Importer, Told, ask};
use std::collections::BTreeSet;
use summary::{Latency, of_ring};
use tollgate_record::family::ImportedFound;
use tollgate_record::text::printable;
use tollgate_record::{Found, Measurement, Per};

mod summary;

pub(super) const IMPORTER: Importer =
    Importer { name: "lmbench", what: "lmbench: lat_ctx and others, raw results, the summary", detect, read };

/// How a line begins, and what it tells in microseconds.
static LINES: &[(&str, Latency)] = &[
    ("Simple syscall", Latency::One("syscall/lmbench-null", Per::Syscall)),
    ("Simple read", Latency::One("syscall/lmbench-read", Per::Syscall)),
    ("Simple write", Latency::One("syscall/lmbench-write", Per::Syscall)),
    ("Simple stat", Latency::One("syscall/lmbench-stat", Per::Syscall)),
    ("Simple fstat", Latency::One("syscall/lmbench-fstat", Per::Syscall)),
    ("Simple open/close", Latency::One("syscall/lmbench-open-close", Per::Operation)),
    ("Select on", Latency::One("syscall/lmbench-select", Per::Syscall)),
    ("Signal handler installation", Latency::One("syscall/lmbench-sigaction", Per::Syscall)),
    ("Signal handler overhead", Latency::One("signal/lmbench-handler", Per::Signal)),
    ("Protection fault", Latency::One("fault/lmbench-protection", Per::Touch)),
    ("Pagefaults on", Latency::One("fault/lmbench-pagefault", Per::Touch)),
    ("Pipe latency", Latency::RoundTrip("process/lmbench-pipe")),
    ("AF_UNIX sock stream latency", Latency::RoundTrip("process/lmbench-unix")),
    ("Process fork+exit", Latency::One("spawn/lmbench-fork", Per::Task)),
    ("Process fork+execve", Latency::One("spawn/lmbench-execve", Per::Task)),
    ("Process fork+/bin/sh -c", Latency::One("spawn/lmbench-shell", Per::Task)),
];

fn detect(text: &str) -> bool {
    let marks = ["[lmbench", "L M B E N C H", "Context switching - times in microseconds"];
    marks.iter().any(|mark| text.contains(mark))
        || text.lines().any(|line| of_line(line).is_some() || size_line(line).is_some())
}

fn read(text: &str, _: &Told) -> Result<Imported, String> {
    let mut imported = Imported::default();
    let mut ring: Option<Ring> = None;
    let mut ignored = BTreeSet::new();
    for line in text.lines().map(str::trim) {
        if let Some(begun) = size_line(line) {
            ring = Some(begun);
            continue;
        }
        if let Some(cell) = ring.as_ref().and_then(|ring| ring.cell(line)) {
            imported.results.push(cell);
            continue;
        }
        ring = ring.filter(|_| line.is_empty());
        if let Some(row) = of_line(line) {
            imported.results.push(row);
        } else if let Some(rest) = line.strip_prefix('[').and_then(|line| line.split_once(" results for ")) {
            host(&mut imported, rest.1.trim_end_matches(']'));
        } else if let Some(name) = foreign(line) {
            ignored.insert(name);
        }
    }
    summary::read(text, &mut imported, &mut ignored);
    imported.ignored = ignored.into_iter().collect();
    Ok(imported)
}

/// `Linux virgil 2.4.17 #1 SMP ... x86_64 GNU/Linux`: what uname said.
fn host(imported: &mut Imported, uname: &str) {
    let words: Vec<&str> = uname.split_whitespace().collect();
    if let [_, name, release, rest @ ..] = words.as_slice() {
        imported.host.name = printable(name).into_owned();
        imported.host.kernel.release = printable(release).into_owned();
        const ARCHES: [&str; 8] =
            ["x86_64", "i686", "aarch64", "riscv64", "ppc64le", "armv7l", "mips64", "s390x"];
        if let Some(arch) = rest.iter().find(|word| ARCHES.contains(word)) {
            imported.host.arch = (*arch).to_owned();
        }
    }
}

/// `Simple syscall: 0.1040 microseconds`. Newer programs print `median=0.104 [mean=...]`.
fn of_line(line: &str) -> Option<Measurement> {
    let (what, rest) = line.trim().rsplit_once(": ")?;
    let figure = rest.trim().strip_suffix("microseconds")?.split_whitespace().next()?;
    let microseconds: f64 = figure.strip_prefix("median=").unwrap_or(figure).parse().ok()?;
    // `Process fork+exit` and `Process fork+execve`: the longest beginning is meant.
    let known = LINES.iter().filter(|(begin, _)| what.starts_with(begin));
    let (begin, latency) = known.max_by_key(|(begin, _)| begin.len())?;
    let mut row = latency.row(microseconds);
    let more = what[begin.len()..].trim();
    match *begin {
        "Select on" => {
            let number = more.split_whitespace().next()?.parse().ok()?;
            let of = if more.contains("tcp") { "tcp" } else { "files" };
            ask(&mut row, |asked| (asked.descriptors, asked.of) = (Some(number), Some(of.into())));
        }
        "Pagefaults on" => {}
        _ if !more.is_empty() => return None,
        _ => {}
    }
    Some(row)
}

/// The name of a result that has no place here: bandwidths, arithmetic, networks.
fn foreign(line: &str) -> Option<String> {
    const UNITS: [&str; 5] = ["microseconds", "nanoseconds", "milliseconds", "MB/sec", "KB/sec"];
    let (name, figure) = line.rsplit_once(':')?;
    let short = name.len() < 80 && UNITS.iter().any(|unit| figure.ends_with(unit));
    short.then(|| printable(name).into_owned())
}

/// A ring of lat_ctx: its cells follow.
struct Ring {
    bytes: u64,
    overhead: f64,
}

/// `"size=64k ovr=3.21`
fn size_line(line: &str) -> Option<Ring> {
    let (size, overhead) = line.trim().strip_prefix("\"size=")?.split_once(" ovr=")?;
    let kib: u64 = size.trim_end_matches(['k', 'K']).parse().ok()?;
    Some(Ring { bytes: kib.checked_mul(1024)?, overhead: overhead.trim().parse().ok()? })
}

impl Ring {
    /// `2 0.94`: processes, microseconds.
    fn cell(&self, line: &str) -> Option<Measurement> {
        let (procs, microseconds) = line.split_once(' ')?;
        let mut row = of_ring(procs.parse().ok()?, self.bytes, microseconds.trim().parse().ok()?);
        if self.overhead.is_finite() {
            row.found = Found::Imported(ImportedFound { taken_off_us: Some(self.overhead) });
        }
        Some(row)
    }
}
