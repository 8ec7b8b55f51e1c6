//! Experiments on RISC-V engines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The bill of a trap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrapAsked {
    /// The design of the kernel entry.
    pub kernel: String,
    /// The instruction set that it is built for.
    pub isa: String,
    /// Crossings in the loop, after the single one.
    pub iterations: u64,
    /// The core whose cycles are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<String>,
    /// `warm` or `cold`, with a core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caches: Option<String>,
}

/// What the trap gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrapFound {
    /// What the system call returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<i64>,
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PipelineAsked {
    /// The core.
    pub core: String,
    /// The symbol from which the diagram starts, where one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The program: a file name, or `bundled`.
    pub program: String,
}

/// Interrupt latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencyAsked {
    /// The core.
    pub core: String,
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
    pub icache: String,
    /// The replacement policy.
    pub policy: String,
    /// Whether accesses are counted by fetch or by cycle.
    pub count: String,
}

/// What the program showed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IcacheFound {}

/// A program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgramAsked {
    /// The program.
    pub program: String,
}
