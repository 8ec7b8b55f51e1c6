//! Rings of tasks: one cell for each number of tasks and size, and what the cells tell about the caches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// One cell.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RingAsked {
    /// Number of tasks.
    pub procs: u32,
    /// Bytes of each task's array.
    pub size: u64,
    /// `process` or `thread`.
    pub tasks: Option<String>,
    /// How a task goes over its array at each hop: `sum`, `random`, `write`.
    pub walk: Option<String>,
    /// Pages under the arrays: `4k`, `huge`.
    pub pages: Option<String>,
    /// The CPUs that the tasks take in turn.
    pub cpus: Option<Vec<usize>>,
}

/// What a cell found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RingFound {
    /// How much of the first task's array is on huge pages, in KiB; absent where 4k pages were asked for, or where the kernel does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge_kib: Option<u64>,
}

/// One cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KneeAsked {
    /// `L1`, `L2`, `L3`; absent in the row that says that the caches are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
}

/// Where refill begins, and how well the fit predicts.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KneeFound {
    /// The cache's size as the system gives it.
    pub expected_bytes: u64,
    /// CPUs that share the cache.
    pub shared_by: u64,
    /// The footprint at which refill begins; the row's figure is then ns for each further KiB of the array.
    pub knee_bytes: Option<u64>,
    /// Its 95 % interval.
    pub knee_interval: Option<[u64; 2]>,
    /// How well cells are predicted by a fit without them.
    pub left_out: Option<LeftOut>,
}

/// Leave-one-out errors of the fit, as a share of each cell's total.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// Cells that were predicted from the others.
    pub cells: u64,
    /// The median of the errors.
    pub median_error: f64,
    /// The largest error.
    pub worst_error: f64,
}
