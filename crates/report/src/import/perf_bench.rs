//! What `perf bench` prints, in its usual and its simple format, for `sched` and `syscall`.
//!
//! The simple format is the seconds of a whole run and nothing else: `loops` tells how many operations it had, and
//! `bench` which benchmark it was where no line says so.

use super::figures::{Imported, Importer, MICROSECOND, SECOND, Told, alone, ask, round_trip};
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

/// The benchmarks that have a place here.
static BENCHES: &[(&str, &str, Operation)] = &[
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

#[derive(Default)]
struct Section<'a> {
    name: Option<&'a str>,
    threads: bool,
    executed: Option<f64>,
    /// Nanoseconds of the whole.
    total: Option<f64>,
    /// Nanoseconds of an operation.
    each: Option<f64>,
    /// A number alone on its line: seconds, in the simple format.
    bare: Option<f64>,
}

fn read(text: &str, told: &Told) -> Result<Imported, String> {
    let loops = match told.get("loops") {
        None => None,
        Some(loops) => {
            let number = loops.parse::<u64>().ok().filter(|loops| *loops > 0);
            Some(number.ok_or("--tell loops=N takes a whole number above 0")? as f64)
        }
    };
    let mut imported = Imported::default();
    for section in sections(text) {
        let name = section.name.or(told.get("bench").map(String::as_str));
        let Some(name) = name else {
            let what = "it is one number, which says nothing of what it is: add --tell bench=sched/pipe (or the \
                        benchmark that it was) and --tell loops=N";
            return Err(what.into());
        };
        match row(name, &section, loops) {
            Some(row) => imported.results.push(row?),
            None => imported.ignored.push(name.to_owned()),
        }
    }
    Ok(imported)
}

fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = vec![Section::default()];
    for line in text.lines().map(str::trim) {
        if let Some(name) = started(line) {
            sections.push(Section { name: Some(name), ..Section::default() });
        }
        let Some(section) = sections.last_mut() else { continue };
        let number = |text: &str| text.trim().replace(',', "").parse::<f64>().ok();
        if let Some(rest) = line.strip_prefix("# Executed ") {
            section.executed = rest.split_whitespace().next().and_then(number);
            section.threads = rest.contains("threads");
        } else if let Some(rest) = line.strip_prefix("Total time:") {
            section.total = rest.split('[').next().and_then(number).map(|seconds| seconds * SECOND);
        } else if let Some(each) = line.strip_suffix("usecs/op").and_then(number) {
            section.each = Some(each * MICROSECOND);
        } else if let Some(each) = line.strip_suffix("nsecs/op").and_then(number) {
            section.each = Some(each);
        } else if let Some(seconds) = number(line) {
            section.bare = Some(seconds * SECOND);
        }
    }
    sections.retain(|it| it.total.or(it.each).or(it.bare).is_some());
    sections
}

/// The row of a section; `None` for a benchmark that has no place here.
fn row(name: &str, section: &Section<'_>, loops: Option<f64>) -> Option<Result<Measurement, String>> {
    let (_, probe, operation) = BENCHES.iter().find(|(known, ..)| *known == name)?;
    let probe = if section.threads { probe.replace("process/", "thread/") } else { (*probe).to_owned() };
    let whole = section.total.or(section.bare);
    let each = section.each.or_else(|| Some(whole? / section.executed.or(loops)?));
    let missing =
        || format!("it gives the seconds of {name} without the number of its operations: add --tell loops=N");
    Some(match operation {
        Operation::Whole => whole.ok_or_else(|| format!("{name} has no total time")).map(|ns| {
            let mut row = alone(&probe, ENGINE, Per::Operation, ns);
            ask(&mut row, |asked| asked.operation = Some("the whole benchmark".into()));
            row
        }),
        Operation::RoundTrip => each.ok_or_else(missing).map(|ns| round_trip(&probe, ENGINE, ns)),
        Operation::One(per) => each.ok_or_else(missing).map(|ns| alone(&probe, ENGINE, *per, ns)),
    })
}
