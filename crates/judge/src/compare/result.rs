//! The options and the result of a comparison.

use super::explain::{Counter, Part};
use super::facts::Difference;
use super::machine::Explained;
use serde::Serialize;
use std::collections::BTreeMap;
use tollgate_record::Per;

/// The margin when none was given.
pub const MARGIN: f64 = 0.03;

/// How to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// A change up to this share counts as none: an interval within it either way is `same`. The threshold of
    /// `--fail-above`, where one was given.
    pub margin: f64,
    /// A probe whose whole interval is above this share makes the comparison fail.
    pub fail_above: Option<f64>,
    /// Compare nanoseconds even on one host, so that a change of the core's frequency counts as a change.
    pub by_time: bool,
    /// The user's names of A and B; empty if a side has only the ids of its runs.
    pub names: [String; 2],
}

impl Default for Options {
    fn default() -> Self {
        Self { margin: MARGIN, fail_above: None, by_time: false, names: Default::default() }
    }
}

/// The verdict on a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// B takes less.
    Better,
    /// B takes more.
    Worse,
    /// The interval is within the margin.
    Same,
    /// The interval decides neither.
    CannotTell,
}

impl Verdict {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "same",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// An adjustment of B's figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adjustment {
    /// The core's frequency: B's figure is at A's.
    Frequency,
    /// For the yardsticks: B's figure is at A's yardsticks.
    Yardsticks,
    /// For pairs: B's figure is A's times the ratio of neighbors.
    Pairs,
}

/// The same row by the other way of comparing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OtherWay {
    /// Whether this is the comparison of times as they were measured.
    pub by_time: bool,
    /// B over A.
    pub ratio: Option<f64>,
    /// Its interval.
    pub interval: Option<[f64; 2]>,
    /// Its verdict.
    pub verdict: Verdict,
}

/// One side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// Ids of its runs.
    pub runs: Vec<String>,
    /// The command of its first run, if it is a program's toll.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Node name of the host.
    pub host: String,
    /// Start of the first run.
    pub started: String,
    /// The user's name for it; empty if only the ids of its runs are known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// `quick`, `usual`, `thorough`, or the command's own.
    pub effort: String,
    /// Most processes (epochs) of a probe, over all runs.
    pub processes: usize,
    /// The core's frequency, median over all processes, in Hz.
    pub core_hz: Option<f64>,
}

/// One probe on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedProbe {
    /// The probe.
    pub probe: String,
    /// The engine that ran it.
    pub engine: String,
    /// The part of a program's time that the row is about: `toll`, `kernel work`; absent for the row's own figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Parameters, of which some tell it from another row of the same probe.
    pub params: BTreeMap<String, String>,
    /// The unit of one figure.
    pub per: Per,
    /// Unit of `a` and `b`: `ns`, `cycles`, `instructions` of a simulated crossing without a core, or `crossings` of a program.
    pub unit: &'static str,
    /// A's figure as it was measured; the median of its runs.
    pub a: f64,
    /// B's figure: as it was measured, or as it would be on A's machine (`adjusted`).
    pub b: f64,
    /// B's figure as it was measured.
    pub b_measured: f64,
    /// The adjustments of `b`; empty if it is as measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub adjusted: Vec<Adjustment>,
    /// `b` over `a`. Absent where it would mean nothing.
    pub ratio: Option<f64>,
    /// Its 99 % interval; with `until`, the one that holds at all looks together.
    pub interval: Option<[f64; 2]>,
    /// Whether the ratio is one of core cycles.
    pub at_one_frequency: bool,
    /// Whether both figures are counts: of a simulator, where any difference is one, or of a program's crossings.
    pub exact: bool,
    /// The chance of the test, corrected for the number of probes; absent where there was no test.
    pub chance: Option<f64>,
    /// Cliff's delta, from -1 (every value of B is below every value of A) to 1.
    pub effect: Option<f64>,
    /// The number of units that the test permutes on each side: processes, or runs if there are enough.
    pub units: [usize; 2],
    /// The smallest change, as a share, that would have been found with 80 % of the chances.
    pub smallest_seen: Option<f64>,
    /// How much the ratio of a single pair of neighboring batches varies within an epoch, as a standard deviation of
    /// its logarithm: the median over epochs. Absent if the two were not measured in pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair_spread: Option<f64>,
    /// The yardsticks that adjust ratio, interval and test; absent if none explains the row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relative: Option<Explained>,
    /// Whether the runs that measured it were not made alike, so that it has no verdict.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub spoiled: bool,
    /// The verdict.
    pub verdict: Verdict,
    /// Why there is no verdict, or a remark.
    pub why: Option<String>,
    /// The result of the other comparison: by time if the row is at one core frequency, at one core frequency if the
    /// comparison is by time. Absent if there is no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_way: Option<OtherWay>,
    /// Phases, those that carry most of the difference first.
    pub parts: Vec<Part>,
    /// Counts that differ.
    pub counters: Vec<Counter>,
}

impl ComparedProbe {
    /// Whether the other comparison gives another verdict.
    pub fn is_contradicted(&self) -> bool {
        let decided = |verdict: Verdict| verdict != Verdict::CannotTell;
        let other = self.other_way.as_ref().map(|other| other.verdict);
        other.is_some_and(|other| decided(other) && decided(self.verdict) && other != self.verdict)
    }

    /// Whether it certainly moved.
    pub fn moved(&self) -> bool {
        matches!(self.verdict, Verdict::Better | Verdict::Worse)
    }

    /// The change as a share: 0.03 for three per cent more.
    pub fn change(&self) -> Option<f64> {
        self.ratio.map(|ratio| ratio - 1.0)
    }

    /// The probe, and the part of it.
    pub fn name(&self) -> String {
        self.part.as_ref().map_or_else(|| self.probe.clone(), |part| format!("{}: {part}", self.probe))
    }

    /// The probe's family.
    pub fn family(&self) -> &str {
        self.probe.split('/').next().unwrap_or(&self.probe)
    }
}

/// The number of rows that moved, the largest change and its cause, and the smallest changes that could have been found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Rows that are certainly worse.
    pub worse: usize,
    /// Rows that are certainly better.
    pub better: usize,
    /// Rows that are the same.
    pub same: usize,
    /// Rows without a verdict.
    pub cannot_tell: usize,
    /// The row that moved most; if none did, the one of which the records cannot say whether it did.
    pub largest: Option<Largest>,
    /// The smallest changes that this comparison could have found; absent if no row has an interval.
    pub sees: Option<Sees>,
}

/// The largest change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Largest {
    /// Its place in the rows.
    pub row: usize,
    /// Whether it certainly moved.
    pub certain: bool,
    /// The phase that carries at least half of it, where the records have phases.
    pub cause: Option<Part>,
}

/// The smallest changes that would have been found 4 times in 5, as shares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sees {
    /// In half of the rows.
    pub half: f64,
    /// In nine rows of ten.
    pub most: f64,
    /// How many rows have one.
    pub rows: usize,
}

/// Two sets of runs against each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Always `tollgate-compare/1`.
    pub schema: &'static str,
    /// The old side.
    pub a: Side,
    /// The new side.
    pub b: Side,
    /// Whether the processes or batches of both took turns.
    pub interleaved: bool,
    /// Whether the processes of both were started at the same addresses.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub same_addresses: bool,
    /// The margin of `--until`, if both were measured until their change was known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<f64>,
    /// Whether the units of the test are runs and not processes.
    pub by_runs: bool,
    /// A change up to this share counts as none.
    pub margin: f64,
    /// Differences besides the figures, worst first.
    pub differences: Vec<Difference>,
    /// B's core frequency over A's, where both are known.
    pub frequency_ratio: Option<f64>,
    /// The ratio of the probes that never enter the kernel, B over A at one core frequency, if it exceeds noise: the
    /// machine itself had another speed, and intervals are wider by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_ratio: Option<f64>,
    /// The ratio of the yardstick `getppid`, B over A at one core frequency, if it moved significantly and the kernel is
    /// the same: intervals of rows that no yardstick explains are wider by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry_ratio: Option<f64>,
    /// The first lines.
    pub summary: Summary,
    /// One entry for each probe that both have.
    pub rows: Vec<ComparedProbe>,
    /// Probes that only A measured, with what became of them in B.
    pub only_a: Vec<String>,
    /// Probes that only B measured, with what became of them in A.
    pub only_b: Vec<String>,
    /// The threshold, and the probes that exceed it for sure.
    pub fail_above: Option<f64>,
    /// Names of those probes.
    pub exceeded: Vec<String>,
}

impl Comparison {
    /// How many rows have that verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// Whether a difference withholds verdicts.
    pub fn is_spoiled(&self) -> bool {
        self.rows.iter().any(|row| row.spoiled)
    }
}
