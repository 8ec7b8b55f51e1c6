//! Experiments on RISC-V engines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay, skip_serializing_none};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The bill of a trap.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrapAsked {
    /// The design of the kernel entry.
    pub kernel: String,
    /// The instruction set that it is built for.
    pub isa: String,
    /// Crossings in the loop, after the single one.
    pub iterations: u64,
    /// Number of the system call; absent for interrupts and switches.
    pub call: Option<u16>,
    /// The core whose cycles are counted.
    pub core: Option<String>,
    /// The state of the caches, with a core.
    pub caches: Option<Caches>,
    /// The feature whose cost is measured, and how the design switches it.
    pub feature: Option<FeatureAsked>,
}

/// A feature of the machine, whose state a kernel saves and loads.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeatureAsked {
    /// Its name.
    pub name: String,
    /// When its state is saved and loaded.
    pub policy: Policy,
    /// Whether the program uses it between two crossings; absent where that makes no difference.
    pub used: Option<bool>,
}

/// When a kernel saves and loads the state of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Never: the kernel with which the others are compared.
    Without,
    /// At each crossing.
    Always,
    /// If it has changed.
    IfDirty,
    /// By a trap of the first use.
    ByTrap,
}

/// What the caches, translation buffers and predictors hold when the crossing begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Caches {
    /// What the crossings before it left.
    Warm,
    /// Nothing.
    Cold,
    /// What a program left that read more memory than they hold; predictors keep what they learned.
    Evicted,
}

impl Caches {
    /// The name in the record.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Cold => "cold",
            Self::Evicted => "evicted",
        }
    }
}

/// What the trap gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrapFound {
    /// What the system call returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<i64>,
    /// What the kernel's design does, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// How near the core is to the RTL that it models, if it was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
}

/// A workload that traps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadAsked {
    /// The core.
    pub core: String,
    /// The design of the kernel entry.
    pub kernel: String,
    /// The program's working set.
    pub set_bytes: u64,
    /// What the kernel reads in each trap.
    pub touch_bytes: u64,
    /// Instructions of the program from trap to trap.
    pub every: u64,
}

/// A stage diagram.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PipelineAsked {
    /// The core.
    pub core: String,
    /// The symbol from which the diagram starts, where one was named.
    pub from: Option<String>,
    /// The program: a file name, or `bundled`.
    pub program: String,
    /// Which one of its kind the diagram is about, from 1.
    pub nth: Option<u64>,
}

/// What a stage diagram shows beside its rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PipelineFound {
    /// What the first instruction after the hazard waited for, in order.
    pub waits: Vec<Wait>,
}

/// Cycles of waiting and their cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// The cause: `d-miss`, `load-use`.
    pub cause: String,
    /// How many cycles.
    pub cycles: u64,
}

/// Interrupt latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencyAsked {
    /// The core.
    pub core: String,
}

/// A program on a timed core and on the RTL of a real one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidationAsked {
    /// The core whose RTL was run.
    pub core: String,
    /// The timed core.
    pub preset: String,
    /// What the program is for: kernels, traps, programs, random or interrupts.
    pub part: String,
    /// The program.
    pub program: String,
    /// Cycles that memory takes.
    pub latency: u64,
}

/// A program and an instruction cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IcacheAsked {
    /// The program.
    pub program: String,
    /// The instruction set that it is built for.
    pub isa: String,
    /// Sets, ways and bytes of a line, as `4:1:8`.
    pub icache: CacheShape,
    /// The replacement policy.
    pub policy: String,
    /// What an access is.
    pub count: Accesses,
}

/// What counts as an access to an instruction cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Accesses {
    /// One for each instruction.
    #[default]
    Fetch,
    /// One for each cycle of a pipeline.
    Cycle,
}

/// The shape of a cache; in the record and on the command line `sets:ways:line`, as `4:1:8`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, SerializeDisplay, DeserializeFromStr, JsonSchema)]
#[schemars(with = "String")]
pub struct CacheShape {
    /// Number of sets.
    pub sets: u32,
    /// Lines in each set.
    pub ways: u32,
    /// Bytes of a line.
    pub line: u32,
}

impl CacheShape {
    /// Bytes that the cache holds.
    pub fn bytes(self) -> u64 {
        u64::from(self.sets).saturating_mul(u64::from(self.ways)).saturating_mul(u64::from(self.line))
    }
}

impl fmt::Display for CacheShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.sets, self.ways, self.line)
    }
}

impl FromStr for CacheShape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers: Result<Vec<u32>, _> = text.split(':').map(str::parse).collect();
        match numbers.as_deref() {
            Ok([sets, ways, line]) => Ok(Self { sets: *sets, ways: *ways, line: *line }),
            _ => Err(format!("'{text}' is not the shape of a cache; write sets:ways:line, as 4:1:8")),
        }
    }
}

/// What the program showed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IcacheFound {
    /// Misses of every shape that was swept, with LRU.
    pub sweep: Vec<SweepCurve>,
}

/// Misses over the number of sets, at one length of a line and one number of ways.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepCurve {
    /// Bytes of a line.
    pub line: u32,
    /// Lines in each set.
    pub ways: u32,
    /// Numbers of sets, ascending, each with the misses.
    pub misses: Vec<(u32, u64)>,
}

/// A program that ran with a profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgramAsked {
    /// The program's file name.
    pub program: String,
    /// The machine's instruction set.
    pub isa: String,
    /// The machine's memory map: `spike` or `virt`.
    pub machine: String,
    /// The core whose cycles are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<String>,
    /// How many functions have a line of their own, if that was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top: Option<u64>,
    /// The program and its arguments, if it ran inside of a kernel or alone (`tollgate riscv exec`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
}

/// What a program inside of a kernel did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuestExec {
    /// Its exit status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u8>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<u8>,
    /// Why it was stopped, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// The kernel; absent if it ran without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// SHA-256 of the `program`, of all its `files`, and of the `kernel` or the `snapshot`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hashes: BTreeMap<String, String>,
    /// What it crossed.
    pub crossings: Vec<GuestCrossing>,
    /// Where in the program it crossed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<GuestSite>,
}

/// One kind of crossing of a program inside of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuestCrossing {
    /// `system call`, `fault`, `interrupt` or `task`.
    pub kind: String,
    /// Its name: `read`.
    pub name: String,
    /// When: at the `start` (`execve`), in the `loader`, in the `program`, or at its `end`.
    pub stage: String,
    /// How many.
    pub count: u64,
    /// Instructions of all of them by step: `entry`, `dispatch`, `work`, `switch`, `exit`.
    pub instructions: BTreeMap<String, u64>,
    /// Cycles by step, with a core.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cycles: BTreeMap<String, u64>,
}

/// A place from which a program crosses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuestSite {
    /// What it crosses.
    pub crossing: String,
    /// The function that does, and its callers.
    pub callers: Vec<String>,
    /// How often.
    pub count: u64,
    /// Instructions outside of the program, or cycles with a core.
    pub cost: u64,
}

/// Where a program's instructions went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgramFound {
    /// Functions with their instructions, most first.
    pub functions: Vec<FunctionFound>,
    /// System calls by their number.
    pub calls: Vec<CallFound>,
    /// How near the core is to the RTL that it models, if it was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
    /// The cycles by who called whom, callers first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathFound>,
    /// Cycles of calls that are too deep or too many to tell apart; the paths of their callers contain them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<u64>,
    /// What it did inside of a kernel, if it ran in one; the paths then are in instructions unless there is a core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<GuestExec>,
}

/// A function of a program, as it was called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathFound {
    /// The path of its caller, by index: one that comes before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<u64>,
    /// Its symbol.
    pub function: String,
    /// Its own cycles on this path.
    pub cycles: u64,
}

/// What a comparison found beside the sums.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidationFound {
    /// Of a trap: its phases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseCompared>,
    /// Of interrupts: each latency in the RTL and on the timed core.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latencies: Vec<[u64; 2]>,
}

/// A phase of a trap on a timed core and in the RTL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseCompared {
    /// Its name.
    pub name: String,
    /// The first crossing.
    pub cold: CyclesCompared,
    /// The warm crossings, all together.
    pub steady: CyclesCompared,
}

/// Cycles of the same instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CyclesCompared {
    /// In the RTL.
    pub rtl: u64,
    /// On the timed core.
    pub model: u64,
    /// The sum of the differences of single instructions, without their signs.
    pub apart: u64,
}

/// A function of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FunctionFound {
    /// Its symbol.
    pub name: String,
    /// Instructions that retired in it.
    pub instructions: u64,
    /// Its own cycles on the core, by cause.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub causes: BTreeMap<String, u64>,
    /// Its cycles with those of all that it called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
}

/// All system calls with one number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallFound {
    /// The number in `a7`.
    pub number: u64,
    /// Its name, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How many were handled.
    pub count: u64,
    /// Fewest instructions between the trap and the return.
    pub min: u64,
    /// Most instructions between the trap and the return.
    pub max: u64,
    /// Instructions of all of them by phase.
    pub phases: BTreeMap<String, u64>,
}
