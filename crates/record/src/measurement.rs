//! The measurement: what one probe gave.

use crate::estimate::Estimate;
use crate::family::{Asked, Found};
use crate::stages::StageDiagram;
use crate::vocabulary::{Counter, PhaseName, WarningKind};
use crate::yardstick::{Regression, TypicalFigure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;

/// What became of a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// There is a figure.
    #[default]
    Measured,
    /// It cannot be measured here; `reason` says why and `enable` what would change that.
    Skipped,
    /// It should have worked and did not; `reason` says what happened.
    Failed,
}

/// What one figure stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// One empty pass of the harness.
    #[default]
    Pass,
    /// One call and its return.
    Call,
    /// One system call and its return.
    Syscall,
    /// One submitted and completed operation.
    Operation,
    /// One signal: sent, handled, returned from.
    Signal,
    /// One touch of a page that faults.
    Touch,
    /// One switch from one task, fiber or thread to another.
    Switch,
    /// One message from one core to another, one way.
    Message,
    /// One task created, run to its end and collected.
    Task,
    /// One exit from the guest to the hypervisor and back (or one instruction where there is none).
    Exit,
    /// One trap to the kernel and back.
    Trap,
    /// One instruction, with what it makes the next ones wait for.
    Instruction,
    /// One run of a program, or the time for which it was watched.
    Run,
}

impl Per {
    /// The unit of one figure.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Call => "call",
            Self::Syscall => "syscall",
            Self::Operation => "op",
            Self::Signal => "signal",
            Self::Touch => "touch",
            Self::Switch => "switch",
            Self::Message => "message",
            Self::Task => "task",
            Self::Exit => "exit",
            Self::Trap => "trap",
            Self::Instruction => "instruction",
            Self::Run => "run",
        }
    }
}

/// How a phase of a bill is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Timed directly.
    #[default]
    Measured,
    /// The difference of two measurements.
    Difference,
    /// A time stamp that the kernel took.
    KernelTimestamp,
    /// Timed inside a bare guest.
    Guest,
    /// Counted by a simulator.
    Simulated,
    /// Read from the kernel's own accounts.
    Accounted,
    /// A count times a price of this machine.
    Priced,
}

/// A named part of a crossing.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// The part's name: `entry`, `dispatch`, `refill`.
    pub name: String,
    /// Nanoseconds; signed, because a difference is never clamped.
    pub ns: Option<Estimate>,
    /// Core or simulated cycles.
    pub cycles: Option<Estimate>,
    /// Instructions, where they were counted.
    pub instructions: Option<f64>,
    /// The phase's cycles by what caused them (`issue`, `i-miss`, `tlb-walk`), where that is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub causes: BTreeMap<String, f64>,
    /// How it is known.
    pub evidence: Evidence,
}

impl Phase {
    /// A phase without figures; the caller fills in what it has.
    pub fn new(name: impl Into<String>, evidence: Evidence) -> Self {
        Self { name: name.into(), evidence, ..Self::default() }
    }
}

/// One quantity over another: a timeline, a growth curve, a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// What it shows: `faults`, `throughput`, `latency`.
    pub name: String,
    /// Unit of the first number of each point.
    pub x_unit: String,
    /// Unit of the second number of each point.
    pub y_unit: String,
    /// The points, in the order of the first number.
    pub points: Vec<[f64; 2]>,
}

/// Something that a reader of the figure must know, as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    /// Stable name that scripts may test for, kebab-case.
    pub code: String,
    /// One plain sentence.
    pub text: String,
}

impl Warning {
    /// A warning of a known kind, with a sentence about this case.
    pub fn new(kind: WarningKind, text: impl Into<String>) -> Self {
        Self { code: kind.name.into(), text: text.into() }
    }
}

/// Samples outside Tukey's fences, counted and kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outliers {
    /// Below Q1 - 3 IQR.
    pub low_severe: u64,
    /// Below Q1 - 1.5 IQR.
    pub low_mild: u64,
    /// Above Q3 + 1.5 IQR.
    pub high_mild: u64,
    /// Above Q3 + 3 IQR.
    pub high_severe: u64,
}

/// The distribution of crossings that were timed one at a time, with the cost of the clock pair removed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Single {
    /// How many were timed.
    pub count: u64,
    /// Nanoseconds that the clock pair itself takes and that were subtracted from each.
    pub pair_overhead_ns: f64,
    /// Half the width of the 95 % interval of that overhead, in nanoseconds.
    pub pair_overhead_error_ns: f64,
    /// Smallest, in nanoseconds.
    pub min: f64,
    /// 10th percentile, in nanoseconds.
    pub p10: f64,
    /// Median, in nanoseconds.
    pub p50: f64,
    /// 90th percentile, in nanoseconds.
    pub p90: f64,
    /// 99th percentile, in nanoseconds.
    pub p99: f64,
    /// Largest, in nanoseconds.
    pub max: f64,
    /// Mean, in nanoseconds.
    pub mean: f64,
}

/// What the batches of an epoch gave beside those of the run that it was measured in pairs with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairedFigure {
    /// Time of a batch of this run over that of the other run's batch beside it.
    pub ratio: f64,
    /// How many pairs of batches.
    pub pairs: u64,
    /// Standard deviation of the logarithm of a single pair's ratio, from the median of its distances.
    pub spread: f64,
}

/// The figure beside the yardstick of its run that explains best what its batches differ by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelativeFigure {
    /// The yardstick, by its name in the run.
    pub yardstick: String,
    /// Time of a crossing over that of the yardstick: the median of all epochs.
    pub ratio: f64,
    /// Its 95 % interval.
    pub ci: [f64; 2],
    /// The power of the yardstick that the probe follows: 1 if both slow down alike.
    pub slope: f64,
    /// Standard error of the slope, as if batches did not depend on each other.
    pub slope_error: f64,
    /// What is left of the standard deviation of a batch when that power is taken out, as a share.
    pub left: f64,
}

/// What one epoch gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EpochFigure {
    /// The epoch's headline in nanoseconds.
    pub ns: f64,
    /// The core's frequency in that epoch, in Hz, where it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_hz: Option<f64>,
    /// A batch of this epoch and the yardsticks beside it as they typically were, where yardsticks were timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typical: Option<TypicalFigure>,
    /// The same epoch against the run of `interleaved_with`, where the batches of both alternated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired: Option<PairedFigure>,
}

/// What one probe gave.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// `family/mechanism`, or `null`.
    pub probe: String,
    /// What the user or the plan chose: sizes, counts, kinds. Equal in two runs of one experiment.
    #[serde(default, skip_serializing_if = "Asked::is_nothing")]
    pub asked: Asked,
    /// What the run learned beside its figures.
    #[serde(default, skip_serializing_if = "Found::is_nothing")]
    pub found: Found,
    /// What ran it: `host`, `embedded`, `spike`, `qemu`, `kvm-intel`.
    pub engine: String,
    /// What became of it.
    pub status: Status,
    /// Why it was skipped or failed.
    pub reason: Option<String>,
    /// What would make a skipped probe measurable.
    pub enable: Option<String>,
    /// What one figure stands for.
    pub per: Per,
    /// Nanoseconds.
    pub ns: Option<Estimate>,
    /// Cycles of the core (or simulated ones, as `engine` says).
    pub cycles: Option<Estimate>,
    /// Periods of the time-stamp counter; absent where there is none.
    pub ticks: Option<Estimate>,
    /// How many batches.
    pub samples: u64,
    /// How many crossings in all of them.
    pub crossings: u64,
    /// Counts showing that the crossing happened, each per crossing (or per touch, as the key says).
    pub proof: BTreeMap<String, f64>,
    /// The key of the proof by whose count the figure was divided, where the count differs from the claim.
    pub per_counted: Option<String>,
    /// Nanoseconds of a crossing with each of the instruments that split it, by the instrument's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub instrumented_ns: BTreeMap<String, f64>,
    /// The headline of each epoch, which is a process of its own: what the headline is the median of, in the
    /// order in which they were made. Empty in records of before it was kept, and for simulated figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub epochs: Vec<EpochFigure>,
    /// The figure relative to work that is the same in every run; absent if no such work explains what the batches
    /// differ by.
    pub relative: Option<RelativeFigure>,
    /// How the batches of the run follow the yardsticks beside them.
    pub regression: Option<Regression>,
    /// The parts that make up the total.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// Hardware and software event counts per crossing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, f64>,
    /// Curves that belong to the figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Series>,
    /// The way of single instructions through a pipeline.
    pub stages: Option<StageDiagram>,
    /// What to know before using the figure.
    pub warnings: Vec<Warning>,
    /// Samples outside the fences.
    pub outliers: Outliers,
    /// Crossings timed one at a time.
    pub single: Option<Single>,
    /// The distribution of single crossings in nanoseconds: HdrHistogram V2, base64.
    pub histogram: Option<String>,
}

impl Measurement {
    /// A result without figures; the caller fills in what it has.
    pub fn empty(probe: &str, engine: &str, per: Per, status: Status) -> Self {
        Self { probe: probe.into(), engine: engine.into(), per, status, ..Self::default() }
    }

    /// The part of the probe's name before the slash: the boundary.
    pub fn family(&self) -> &str {
        self.probe.split('/').next().unwrap_or(&self.probe)
    }

    /// Whether a warning of this kind is attached.
    pub fn has_warning(&self, kind: WarningKind) -> bool {
        self.warnings.iter().any(|warning| warning.code == kind)
    }

    /// The value of a counter, where it was counted.
    pub fn counter(&self, counter: Counter) -> Option<f64> {
        self.counters.get(counter.name).copied()
    }

    /// Sets the value of a counter.
    pub fn count(&mut self, counter: Counter, value: f64) {
        self.counters.insert(counter.name.into(), value);
    }

    /// The phase of this name, where the bill has it.
    pub fn phase(&self, name: PhaseName) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name == name)
    }
}
