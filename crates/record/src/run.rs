//! The run: one invocation of the tool and all that it found.

use crate::host::Host;
use crate::measurement::{Measurement, Warning};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// The version of the document. A reader refuses any other.
pub const SCHEMA: &str = "tollgate/2";

/// One invocation of the tool and all that it found.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Always `tollgate/2`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Unique name of the run; the store's file name.
    pub id: String,
    /// Start of the run, RFC 3339 in UTC.
    pub started: String,
    /// Seed of every random choice (the order of the batches).
    pub seed: u64,
    /// The program that measured.
    pub tool: Tool,
    /// The command line after the program's name.
    pub command: Vec<String>,
    /// What its user calls the run (`tollgate show --label NAME RUN`).
    pub label: Option<String>,
    /// False when the run was interrupted or is still going on.
    pub complete: bool,
    /// Id of the run whose batches took turns with those of this one (`tollgate run --against PROGRAM`).
    pub interleaved_with: Option<String>,
    /// Whether the processes of both were started at the same addresses, without address randomization.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_addresses: bool,
    /// The margin of `--until`: each probe was measured until its change was known to be above, below or within it.
    pub until: Option<f64>,
    /// The machine that was measured.
    pub host: Host,
    /// What spoiled the run as a whole.
    pub warnings: Vec<Warning>,
    /// Work that is the same in every run, timed among the batches of the probes: what the machine did to the run, it did
    /// to this work as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub yardsticks: Vec<Yardstick>,
    /// One entry for each probe, in the order of the list of probes.
    pub results: Vec<Measurement>,
    /// CRC-32 of the rest of the document as compact JSON, so that a damaged or edited record is noticed. A document
    /// without it is read as it is.
    pub checksum: Option<String>,
}

impl Run {
    /// A record without results. `started` is RFC 3339.
    pub fn begin(
        id: String,
        started: String,
        tool: Tool,
        command: Vec<String>,
        host: Host,
        seed: u64,
    ) -> Self {
        Self {
            schema: SCHEMA.into(),
            checksum: None,
            id,
            started,
            seed,
            tool,
            command,
            label: None,
            complete: false,
            interleaved_with: None,
            same_addresses: false,
            until: None,
            host,
            warnings: Vec::new(),
            yardsticks: Vec::new(),
            results: Vec::new(),
        }
    }
}

/// The yardstick in which the kernel takes part: it says nothing about the machine if the kernel is another one.
pub const KERNEL_YARDSTICK: &str = "getppid";

/// A kind of work that is the same in every run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Yardstick {
    /// `multiply`, `add`, `l1-walk`, `l2-walk`, `getppid`.
    pub name: String,
    /// For each epoch of the run the headline of this work in nanoseconds, where it was timed.
    pub epochs: Vec<Option<f64>>,
}

/// The program that measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Version of the package.
    pub version: String,
    /// Git commit that the binary was built from, `unknown` outside a checkout.
    pub commit: String,
}
