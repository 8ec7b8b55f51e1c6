//! Lines of figures that are recorded for each core, and how two of them differ.

use std::collections::BTreeMap;
use std::fmt::Write;

use tollgate_testkit::Recorded;

/// Names of the columns, in the order of a line: counts, then cycles by cause, then digests.
pub(crate) const COLUMNS: [&str; 23] = [
    "instructions",
    "cycles",
    "mispredicts",
    "traps",
    "l1i-misses",
    "l1d-accesses",
    "l1d-misses",
    "l2-accesses",
    "l2-misses",
    "write-backs",
    "itlb-misses",
    "dtlb-misses",
    "unknown-walks",
    "issue",
    "load-use",
    "csr",
    "branch",
    "trap-flush",
    "i-miss",
    "d-miss",
    "tlb-walk",
    "long-operation",
    "structural",
];
/// Names of the digests behind them: cycles by privilege mode and cause; by phase and cause; passages through the pipe; a run
/// that [begins cold again](super::model::Attached::make_cold) in its middle; latencies of interrupts, or a bill of the lab.
pub(crate) const DIGESTS: [&str; 5] = ["modes", "phases", "passages", "cold", "results"];

/// A hash of numbers, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digest(u64);

impl Digest {
    pub(crate) fn add(&mut self, numbers: &[u64]) {
        for number in numbers {
            self.0 = (self.0.rotate_left(29) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut digest = Self::default();
        bytes.iter().for_each(|&byte| digest.add(&[byte.into()]));
        digest
    }

    /// The 32 bits that are recorded.
    pub(crate) fn short(self) -> u32 {
        (self.0 >> 32 ^ self.0) as u32
    }
}

/// What a core counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Figures {
    /// As [`COLUMNS`] names them.
    pub(crate) columns: Vec<u64>,
    /// Cycles by privilege mode and cause.
    pub(crate) modes: Vec<u64>,
}

/// The figures of one program.
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) figures: Figures,
    /// All of [`DIGESTS`] but the first. One that is not recorded is 0.
    pub(crate) digests: [Digest; 4],
}

/// A line: the sums of a group of programs, digests of the whole, and a short digest of each program.
fn line(programs: &[Program]) -> String {
    let mut sums = [0; COLUMNS.len()];
    let (mut digests, mut each) = ([Digest::default(); DIGESTS.len()], String::new());
    for program in programs {
        sums.iter_mut().zip(&program.figures.columns).for_each(|(sum, one)| *sum += one);
        let mut modes = Digest::default();
        modes.add(&program.figures.modes);
        let mut all = Digest::default();
        all.add(&program.figures.columns);
        for (sum, one) in digests.iter_mut().zip([modes].into_iter().chain(program.digests)) {
            sum.add(&[one.0]);
            all.add(&[one.0]);
        }
        let _ = write!(each, " {:04x}", all.short() & 0xffff);
    }
    let sums: String = sums.iter().map(|sum| format!(" {sum}")).collect();
    let digests: String = digests.iter().map(|digest| format!(" {:08x}", digest.short())).collect();
    format!("{sums}{digests} |{each}")
}

/// The lines of a file, by the names of their groups.
#[derive(Default)]
pub(crate) struct Lines {
    lines: BTreeMap<String, String>,
    programs: BTreeMap<String, Vec<String>>,
}

impl Lines {
    pub(crate) fn add(&mut self, group: String, programs: &[Program]) {
        self.lines.insert(group.clone(), line(programs));
        let names = programs.iter().map(|program| program.name.clone()).collect();
        assert!(self.programs.insert(group.clone(), names).is_none(), "{group} twice");
    }

    /// A line of figures with their names.
    pub(crate) fn note(&mut self, group: &str, figures: Vec<(String, u64)>) {
        let line = figures.iter().map(|(name, figure)| format!(" {name}={figure}")).collect();
        self.lines.insert(group.to_owned(), line);
        self.programs.insert(group.to_owned(), Vec::new());
    }

    /// Compares with the recorded file, or writes it.
    pub(crate) fn check(&self, name: &str) {
        if Recorded::is_blessing() {
            return recorded(name).write(&self.text()).expect("written");
        }
        let differences = self.differences(name);
        assert!(differences.is_empty(), "{name}: recorded -> now\n{}", differences.join("\n"));
    }

    /// As they are recorded.
    fn text(&self) -> String {
        let lines = self.lines.iter().map(|(group, line)| format!("{group}:{line}\n"));
        format!("# {} {} | each program\n{}", COLUMNS.join(" "), DIGESTS.join(" "), lines.collect::<String>())
    }

    /// Each figure that differs from the recorded file. Groups that were not computed are passed over.
    pub(crate) fn differences(&self, name: &str) -> Vec<String> {
        let text = recorded(name).text().expect("recorded");
        let recorded: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.split_once(':')).collect();
        let differs = |(group, line): (&String, &String)| {
            let Some(before) = recorded.get(group.as_str()) else {
                return Some(format!("{group}: is not recorded"));
            };
            (before != line).then(|| difference(group, &self.programs[group], before, line))
        };
        self.lines.iter().filter_map(differs).collect()
    }
}

fn recorded(name: &str) -> Recorded {
    Recorded::file("witnesses", &format!("crates/lab/tests/witnesses/{name}.txt"))
}

/// The columns of a group that differ, and its programs.
fn difference(group: &str, programs: &[String], before: &str, now: &str) -> String {
    let parts = |line: &str| -> [Vec<String>; 2] {
        let (sums, each) = line.split_once('|').unwrap_or((line, ""));
        [sums, each].map(|part| part.split_whitespace().map(str::to_owned).collect())
    };
    if now.contains('=') {
        let without = |line: &str, other: &str| {
            let differs = |word: &&str| other.split_whitespace().all(|it| it != *word);
            line.split_whitespace().filter(differs).collect::<Vec<_>>().join(" ")
        };
        return format!("{group}: {} -> {}", without(before, now), without(now, before));
    }
    let ([before, each_before], [now, each_now]) = (parts(before), parts(now));
    let mut text = format!("{group}:");
    for (name, (before, now)) in COLUMNS.iter().chain(&DIGESTS).zip(before.iter().zip(&now)) {
        if before != now {
            let _ = write!(text, " {name} {before} -> {now},");
        }
    }
    if each_before.len() == each_now.len() {
        let pairs = each_before.iter().zip(&each_now).zip(programs);
        let names: Vec<&str> = pairs.filter(|(pair, _)| pair.0 != pair.1).map(|(_, name)| &**name).collect();
        let _ = write!(text, " in {} of {} programs: {}", names.len(), programs.len(), names.join(" "));
    } else {
        let _ = write!(text, " {} programs -> {}", each_before.len(), each_now.len());
    }
    text
}
