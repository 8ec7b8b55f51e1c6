//! The tables of lmbench's summary (`make see`): under each title two lines of headings, a ruler of dashes that
//! tells where the columns are, and one line for each run of each host.

use crate::import::figures::{Imported, MICROSECOND, alone, ask, in_line, round_trip};
use crate::import::number::DecimalMarks;
use std::collections::BTreeSet;
use std::ops::Range;
use tollgate_record::text::printable;
use tollgate_record::{Measurement, Per};

const ENGINE: &str = "imported-lmbench";

#[derive(Clone, Copy)]
pub(super) enum Latency {
    One(&'static str, Per),
    RoundTrip(&'static str),
}

impl Latency {
    pub(super) fn row(self, ns: f64) -> Measurement {
        match self {
            Self::One(probe, per) => alone(probe, ENGINE, per, ns),
            Self::RoundTrip(probe) => round_trip(probe, ENGINE, ns),
        }
    }
}

/// What `lat_ctx` measures: hot work taken off, so the switch and what it costs to find the caches cold.
pub(super) fn of_ring(procs: u64, bytes: u64, ns: f64) -> Measurement {
    let mut row = alone("process/lmbench-ctx", ENGINE, Per::Switch, ns);
    ask(&mut row, |asked| (asked.procs, asked.size) = (Some(procs), Some(bytes)));
    row
}

/// What the columns of a table are, counted from the third on; the first two are host and system.
enum Columns {
    /// Those that have a place here, and the names of those that have none.
    Known(&'static [(usize, Latency)], &'static [(usize, &'static str)]),
    /// The headings tell processes and size: `2p/16K`.
    Rings,
}

/// How a title begins, and the columns below it.
static TABLES: &[(&str, Columns)] = &[
    (
        "Processor, Processes - times in microseconds",
        Columns::Known(
            &[
                (1, Latency::One("syscall/lmbench-null", Per::Syscall)),
                (2, Latency::One("syscall/lmbench-null-io", Per::Syscall)),
                (3, Latency::One("syscall/lmbench-stat", Per::Syscall)),
                (4, Latency::One("syscall/lmbench-open-close", Per::Operation)),
                (5, Latency::One("syscall/lmbench-select-tcp", Per::Syscall)),
                (6, Latency::One("syscall/lmbench-sigaction", Per::Syscall)),
                (7, Latency::One("signal/lmbench-handler", Per::Signal)),
                (8, Latency::One("spawn/lmbench-fork", Per::Task)),
                (9, Latency::One("spawn/lmbench-execve", Per::Task)),
                (10, Latency::One("spawn/lmbench-shell", Per::Task)),
            ],
            &[],
        ),
    ),
    ("Context switching - times in microseconds", Columns::Rings),
    (
        "*Local* Communication latencies in microseconds",
        // The first column is in the table above already.
        Columns::Known(
            &[
                (1, Latency::RoundTrip("process/lmbench-pipe")),
                (2, Latency::RoundTrip("process/lmbench-unix")),
            ],
            &[(3, "UDP"), (4, "RPC/UDP"), (5, "TCP"), (6, "RPC/TCP"), (7, "TCP conn")],
        ),
    ),
    (
        "File & VM system latencies in microseconds",
        Columns::Known(
            &[
                (5, Latency::One("fault/lmbench-protection", Per::Touch)),
                (6, Latency::One("fault/lmbench-pagefault", Per::Touch)),
                (7, Latency::One("syscall/lmbench-select-100", Per::Syscall)),
            ],
            &[
                (0, "0K File Create"),
                (1, "0K File Delete"),
                (2, "10K File Create"),
                (3, "10K File Delete"),
                (4, "Mmap Latency"),
            ],
        ),
    ),
];

/// Adds what the tables of `text` hold.
pub(super) fn read(text: &str, marks: DecimalMarks, imported: &mut Imported) -> Result<(), String> {
    let mut found: Vec<([String; 2], Measurement)> = Vec::new();
    let mut title: Option<&str> = None;
    let mut heading = "";
    let mut table: Option<(&Columns, Vec<Range<usize>>, &str)> = None;
    for (number, line) in text.lines().enumerate() {
        if line.contains(" is better") {
            title = Some(line.trim());
            table = None;
            continue;
        }
        if line.trim_start().starts_with("Host ") {
            heading = line;
            continue;
        }
        let ruler = ruler(line);
        // The line under the title is one long dash.
        if ruler.len() >= 3 {
            let named = |title: &str| TABLES.iter().find(|(begin, _)| title.starts_with(begin));
            table = title.and_then(named).map(|(_, columns)| (columns, ruler, heading));
            if let Some(other) = title.filter(|_| table.is_none()) {
                imported.leave_out(other);
            }
            continue;
        }
        match &table {
            Some((columns, ruler, heading)) => {
                let cells = cells(line, ruler, marks).map_err(|why| in_line(number + 1, line, &why))?;
                found.extend(rows(line, cells, columns, (ruler, heading), imported));
            }
            None => continue,
        }
        if line.trim().is_empty() {
            table = None;
        }
    }
    let places: BTreeSet<&[String; 2]> = found.iter().map(|(place, _)| place).collect();
    let several = places.len() > 1;
    for (place, mut row) in found {
        let [name, system] = place;
        if several {
            ask(&mut row, |asked| (asked.host, asked.system) = (Some(name), Some(system)));
        } else if imported.host.name.is_empty() {
            imported.host.name = name;
            // The summary cuts it short.
            imported.host.kernel.release = system.trim_start_matches("Linux ").to_owned();
        }
        imported.results.push(row);
    }
    Ok(())
}

/// The columns under a ruler of dashes; none for any other line.
fn ruler(line: &str) -> Vec<Range<usize>> {
    let line = line.trim_end();
    if line.is_empty() || !line.bytes().all(|byte| byte == b'-' || byte == b' ') {
        return Vec::new();
    }
    words(line).map(|(range, _)| range).collect()
}

/// The words of a line of ASCII with their places.
fn words(line: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    line.split(' ')
        .scan(0, |at, word| {
            let start = *at;
            *at += word.len() + 1;
            Some((start..start + word.len(), word))
        })
        .filter(|(_, word)| !word.is_empty())
}

/// The figures of a line in nanoseconds, each with its column.
fn cells(line: &str, ruler: &[Range<usize>], marks: DecimalMarks) -> Result<Vec<(usize, f64)>, String> {
    let mut cells = Vec::new();
    for (range, word) in words(line) {
        // A figure is flush right under its column; a long one begins before it.
        let overlap =
            |column: &Range<usize>| range.end.min(column.end).saturating_sub(range.start.max(column.start));
        let most =
            ruler.iter().map(overlap).enumerate().max_by_key(|(place, most)| (*most, usize::MAX - place));
        let Some((column, _)) = most.filter(|(column, most)| *most > 0 && *column >= 2) else { continue };
        if word.contains(|c: char| c.is_ascii_digit()) {
            cells.push((column - 2, figure(word, marks)? * MICROSECOND));
        }
    }
    Ok(cells)
}

/// The rows of a line, each with host and system.
fn rows(
    line: &str,
    cells: Vec<(usize, f64)>,
    columns: &Columns,
    (ruler, heading): (&[Range<usize>], &str),
    imported: &mut Imported,
) -> Vec<([String; 2], Measurement)> {
    let labels: Vec<&str> = heading.split_whitespace().skip(2).collect();
    let (Some(host), Some(system)) = (line.get(ruler[0].clone()), line.get(ruler[1].clone())) else {
        return Vec::new();
    };
    let place = [host, system].map(|text| printable(text.trim()).into_owned());
    let mut found = Vec::new();
    for (column, ns) in cells {
        let row = match columns {
            Columns::Known(known, others) => {
                let other = others.iter().find(|(at, _)| *at == column);
                other.iter().for_each(|(_, name)| imported.leave_out(name));
                known.iter().find(|(at, _)| *at == column).map(|(_, latency)| latency.row(ns))
            }
            Columns::Rings => {
                let ring = labels.get(column).and_then(|label| ring(label));
                ring.map(|(procs, bytes)| of_ring(procs, bytes, ns))
            }
        };
        found.extend(row.map(|row| (place.clone(), row)));
    }
    found
}

/// `0.32`, `135.`, `4.5K`.
fn figure(word: &str, marks: DecimalMarks) -> Result<f64, String> {
    let (digits, factor) = match word.strip_suffix('K') {
        Some(digits) => (digits, 1e3),
        None => (word.strip_suffix('M').unwrap_or(word), if word.ends_with('M') { 1e6 } else { 1.0 }),
    };
    Ok(marks.read(digits)? * factor)
}

/// `16p/64K`: processes and bytes.
fn ring(label: &str) -> Option<(u64, u64)> {
    let (procs, size) = label.split_once("p/")?;
    let kib: u64 = size.strip_suffix('K')?.parse().ok()?;
    Some((procs.parse().ok()?, kib.checked_mul(1024)?))
}
