//! What `perf bench` prints, in its usual and its simple format, for `sched` and `syscall`.
//!
//! The simple format is the seconds of a whole run and nothing else: `loops` tells how many operations it had, and
//! `bench` which benchmark it was where no line says so.

use super::figures::{Imported, Importer, MICROSECOND, SECOND, Told, alone, ask, in_line, round_trip};
use super::number::{DecimalMarks, whole_number};
use tollgate_record::{Measurement, Per};

pub(super) const IMPORTER: Importer =
    Importer { name: "perf-bench", what: "what `perf bench` prints, also with `-f simple`", detect, read };

const ENGINE: &str = "imported-perf-bench";

enum Operation {
    /// A message there and back: two switches.
    RoundTrip,
    /// One of what the row says.
    One(Per),
    /// The benchmark has no operations, only a whole.
    Whole,
}

/// A benchmark that has a place here: its name, the probe, and what one operation is.
type Bench = (&'static str, &'static str, Operation);

static BENCHES: &[Bench] = &[
    ("sched/pipe", "process/perf-pipe", Operation::RoundTrip),
    ("sched/messaging", "process/perf-messaging", Operation::Whole),
    ("sched/seccomp-notify", "syscall/perf-seccomp-notify", Operation::One(Per::Operation)),
    ("syscall/basic", "syscall/perf-basic", Operation::One(Per::Syscall)),
    ("syscall/getpgid", "syscall/perf-getpgid", Operation::One(Per::Syscall)),
    ("syscall/fork", "spawn/perf-fork", Operation::One(Per::Task)),
    ("syscall/execve", "spawn/perf-execve", Operation::One(Per::Task)),
];

fn detect(text: &str) -> bool {
    text.lines().any(|line| started(line).is_some()) || text.trim().parse::<f64>().is_ok()
}

/// The benchmark that a line says is being run.
fn started(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix("# Running ")?;
    let name = rest.strip_prefix('\'').and_then(|rest| rest.split_once('\'')).map(|(name, _)| name);
    name.or_else(|| rest.split_once(" benchmark").map(|(name, _)| name))
}

fn read(text: &str, told: &Told) -> Result<Imported, String> {
    let loops = match told.get("loops") {
        None => None,
        Some(loops) => {
            let number = loops.parse::<u64>().ok().filter(|loops| *loops > 0);
            Some(number.ok_or("--tell loops=N takes a whole number above 0")? as f64)
        }
    };
    let told_name = told.get("bench").map(String::as_str);
    let marks = DecimalMarks::of(text);
    let mut imported = Imported::default();
    for lines in sections(text) {
        let named = lines.first().and_then(|(_, line)| started(line));
        let name = named.or(told_name);
        let bench = name.and_then(|name| BENCHES.iter().find(|(known, ..)| *known == name));
        // Figures of benchmarks that have no place here may be of any form.
        let lines = if name.is_none() || bench.is_some() { lines } else { Vec::new() };
        let section = Section::read(&lines, marks)?;
        match (name, bench) {
            // Before the first benchmark.
            _ if named.is_none() && section.is_empty() => {}
            (None, _) => {
                let what = "it is one number, which says nothing of what it is: add --tell bench=sched/pipe (or the \
                            benchmark that it was) and --tell loops=N";
                return Err(what.into());
            }
            (Some(name), None) => imported.leave_out(name),
            (Some(name), Some(_)) if section.is_empty() => {
                imported.leave_out(&format!("{name} (without a figure)"))
            }
            (_, Some(bench)) => imported.results.push(row(bench, &section, loops)?),
        }
    }
    Ok(imported)
}

/// The lines of each benchmark with their numbers, counted from one. The first may have no name.
fn sections(text: &str) -> Vec<Vec<(usize, &str)>> {
    let mut sections = vec![Vec::new()];
    for (place, line) in text.lines().map(str::trim).enumerate() {
        if started(line).is_some() {
            sections.push(Vec::new());
        }
        if let Some(section) = sections.last_mut() {
            section.push((place + 1, line));
        }
    }
    sections
}

/// What the lines of a benchmark say.
#[derive(Default)]
struct Section {
    threads: bool,
    executed: Option<f64>,
    /// Nanoseconds of the whole.
    total: Option<f64>,
    /// Nanoseconds of an operation.
    each: Option<f64>,
}

impl Section {
    fn read(lines: &[(usize, &str)], marks: DecimalMarks) -> Result<Self, String> {
        let mut section = Self::default();
        for &(number, line) in lines {
            let (field, text, unit) = if let Some(rest) = line.strip_prefix("# Executed ") {
                section.threads = rest.contains("threads");
                section.executed = whole_number(rest);
                continue;
            } else if let Some(rest) = line.strip_prefix("Total time:") {
                (&mut section.total, rest.split('[').next().unwrap_or_default(), SECOND)
            } else if let Some(each) = line.strip_suffix("usecs/op") {
                (&mut section.each, each, MICROSECOND)
            } else if let Some(each) = line.strip_suffix("nsecs/op") {
                (&mut section.each, each, 1.0)
            } else if line.starts_with(|c: char| c.is_ascii_digit()) && !line.contains(char::is_whitespace) {
                // The simple format.
                (&mut section.total, line, SECOND)
            } else {
                continue;
            };
            // perf prints seconds from whole numbers, with a point in every locale.
            let plain = || text.trim().parse().ok().filter(|_| unit == SECOND);
            let figure = plain().map_or_else(|| marks.read(text), Ok);
            let ns = figure.map_err(|why| in_line(number, line, &why))? * unit;
            if field.replace(ns).is_some() {
                return Err(in_line(
                    number,
                    line,
                    "it is a second figure of one benchmark; which line names it?",
                ));
            }
        }
        Ok(section)
    }

    fn is_empty(&self) -> bool {
        self.total.or(self.each).is_none()
    }
}

fn row(
    (name, probe, operation): &Bench,
    section: &Section,
    loops: Option<f64>,
) -> Result<Measurement, String> {
    let probe = if section.threads { probe.replace("process/", "thread/") } else { (*probe).to_owned() };
    let each = section.each.or_else(|| Some(section.total? / section.executed.or(loops)?));
    let missing =
        || format!("it gives the seconds of {name} without the number of its operations: add --tell loops=N");
    match operation {
        Operation::Whole => section.total.ok_or_else(|| format!("{name} has no total time")).map(|ns| {
            let mut row = alone(&probe, ENGINE, Per::Operation, ns);
            ask(&mut row, |asked| asked.operation = Some("the whole benchmark".into()));
            row
        }),
        Operation::RoundTrip => each.ok_or_else(missing).map(|ns| round_trip(&probe, ENGINE, ns)),
        Operation::One(per) => each.ok_or_else(missing).map(|ns| alone(&probe, ENGINE, *per, ns)),
    }
}
