//! Results of other tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;

/// What the other tool's file says was measured.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportedAsked {
    /// The host's name in that file.
    pub host: Option<String>,
    /// The operating system in that file.
    pub system: Option<String>,
    /// Number of processes of a ring.
    pub procs: Option<u64>,
    /// Bytes of each process's array.
    pub size: Option<u64>,
    /// Number of descriptors that are selected from.
    pub descriptors: Option<u64>,
    /// What those descriptors are: `files`, `tcp`.
    pub of: Option<String>,
    /// What one operation is.
    pub operation: Option<String>,
    /// The core that answers.
    pub core_a: Option<u64>,
    /// The core that asks.
    pub core_b: Option<u64>,
    /// The command that was timed.
    pub command: Option<String>,
    /// Parameters of that command.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
}

/// What the other tool reports beside its figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportedFound {
    /// Microseconds that the tool subtracted for the work of the tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_off_us: Option<f64>,
}
