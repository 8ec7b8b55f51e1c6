//! lmbench: what its programs print, the raw results of a whole run, and the tables of its summary.

use super::figures::{Imported, Importer, MICROSECOND, Told, ask, in_line};
use super::number::DecimalMarks;
use summary::{Latency, of_ring};
use tollgate_record::family::ImportedFound;
use tollgate_record::text::printable;
use tollgate_record::{Found, Measurement, Per};

mod summary;

pub(super) const IMPORTER: Importer =
    Importer { name: "lmbench", what: "lmbench: lat_ctx and others, raw results, the summary", detect, read };

/// How a line begins, and which latency it has.
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
    let is_figure = |line: &str| {
        let marks = DecimalMarks::default();
        !matches!(of_line(line, marks), Ok(None)) || !matches!(Ring::begun(line, marks), Ok(None))
    };
    marks.iter().any(|mark| text.contains(mark)) || text.lines().map(str::trim).any(is_figure)
}

fn read(text: &str, _: &Told) -> Result<Imported, String> {
    let marks = DecimalMarks::of(text);
    let mut imported = Imported::default();
    let mut ring: Option<Ring> = None;
    let mut title = "";
    for (place, line) in text.lines().map(str::trim).enumerate() {
        let wrong = |why: String| in_line(place + 1, line, &why);
        if let Some(begun) = Ring::begun(line, marks).map_err(wrong)? {
            ring = Some(begun);
            continue;
        }
        let cell = ring.as_ref().map(|ring| ring.cell(line, marks)).transpose().map_err(wrong)?;
        if let Some(cell) = cell.flatten() {
            imported.results.push(cell);
            continue;
        }
        ring = ring.filter(|_| line.is_empty());
        if let Some(row) = of_line(line, marks).map_err(wrong)? {
            imported.results.push(row);
        } else if let Some((_, uname)) =
            line.strip_prefix('[').and_then(|line| line.split_once(" results for "))
        {
            host(&mut imported, uname.trim_end_matches(']'));
        } else if let Some(name) = foreign(line) {
            imported.leave_out(name);
        } else if line.starts_with(|c: char| c.is_ascii_digit()) {
            // Rows of a curve: of memory, files, bandwidths.
            imported.leave_out(title);
        } else if !line.is_empty() {
            title = line.trim_matches(['"', ':']);
        }
    }
    imported.left_out.shift_remove("");
    summary::read(text, marks, &mut imported)?;
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

/// `Simple syscall: 0.1040 microseconds`. Newer programs print `median=0.104 [mean=...]`. `None` is another line.
fn of_line(line: &str, marks: DecimalMarks) -> Result<Option<Measurement>, String> {
    let Some((what, rest)) = line.rsplit_once(": ") else { return Ok(None) };
    let unit = UNITS.iter().find_map(|(unit, ns)| Some((rest.trim_end().strip_suffix(unit)?, ns)));
    // `Process fork+exit` and `Process fork+execve`: the longest beginning is meant.
    let known = LINES.iter().filter(|(begin, _)| what.starts_with(begin));
    let known = known.max_by_key(|(begin, _)| begin.len());
    let (Some((rest, unit)), Some((begin, latency))) = (unit, known) else { return Ok(None) };
    let more = what[begin.len()..].trim();
    let descriptors = more.split_whitespace().next().and_then(|number| number.parse().ok());
    match *begin {
        "Select on" if descriptors.is_none() => return Ok(None),
        "Select on" | "Pagefaults on" => {}
        _ if !more.is_empty() => return Ok(None),
        _ => {}
    }
    let figure = rest.split_whitespace().next().unwrap_or_default();
    let mut row = latency.row(marks.read(figure.strip_prefix("median=").unwrap_or(figure))? * unit);
    if descriptors.is_some() {
        let of = if more.contains("tcp") { "tcp" } else { "files" };
        ask(&mut row, |asked| (asked.descriptors, asked.of) = (descriptors, Some(of.into())));
    }
    Ok(Some(row))
}

/// Units of latencies, and their nanoseconds.
static UNITS: [(&str, f64); 3] =
    [("microseconds", MICROSECOND), ("nanoseconds", 1.0), ("milliseconds", MICROSECOND * 1e3)];

/// The name of a result that has no place here: bandwidths, arithmetic, networks.
fn foreign(line: &str) -> Option<&str> {
    let (name, figure) = line.rsplit_once(':')?;
    let mut units = UNITS.iter().map(|(unit, _)| *unit).chain(["MB/sec", "KB/sec"]);
    (name.len() < 80 && units.any(|unit| figure.ends_with(unit))).then_some(name)
}

/// A ring of lat_ctx: its cells follow.
struct Ring {
    bytes: u64,
    overhead: f64,
}

impl Ring {
    /// `"size=64k ovr=3.21`. `None` is another line.
    fn begun(line: &str, marks: DecimalMarks) -> Result<Option<Self>, String> {
        let Some((size, overhead)) = line.strip_prefix("\"size=").and_then(|rest| rest.split_once(" ovr="))
        else {
            return Ok(None);
        };
        let kib = size.trim_end_matches(['k', 'K']).parse::<u64>().ok();
        let bytes =
            kib.and_then(|kib| kib.checked_mul(1024)).ok_or("its size is not a number of kilobytes")?;
        Ok(Some(Self { bytes, overhead: marks.read(overhead)? }))
    }

    /// `2 0.94`: processes, microseconds. `None` is another line.
    fn cell(&self, line: &str, marks: DecimalMarks) -> Result<Option<Measurement>, String> {
        let cell = line.split_once(' ').and_then(|(procs, rest)| Some((procs.parse().ok()?, rest)));
        let Some((procs, microseconds)) = cell else { return Ok(None) };
        let mut row = of_ring(procs, self.bytes, marks.read(microseconds)? * MICROSECOND);
        if self.overhead.is_finite() {
            row.found = Found::Imported(ImportedFound { taken_off_us: Some(self.overhead) });
        }
        Ok(Some(row))
    }
}
