//! Switches in runtimes and languages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One mechanism of one runtime.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuntimeAsked {
    /// Number of tasks that pass the token.
    pub tasks: u64,
    /// The runtime.
    pub runtime: String,
    /// Its language.
    pub language: String,
    /// `fiber`, `coroutine`, `thread`, ...
    pub kind: String,
    /// What one switch is, in words.
    pub what: String,
}

/// What the runtime's program reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuntimeFound {
    /// Version of the runtime.
    pub version: String,
    /// The clock that the program used.
    pub clock: String,
    /// The step of that clock.
    pub clock_resolution_ns: f64,
    /// Switches in one batch.
    pub batch: u64,
    /// What the program says about itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Resident memory for each task, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_task: Option<f64>,
}
