//! What about a host spoils, or may spoil, a measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Looked at, and nothing is wrong.
    Ok,
    /// Worth knowing when a figure is read or compared.
    Info,
    /// Figures taken like this are wrong, unsteady or missing.
    Spoils,
}

/// One thing that was looked at on a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// Stable name that scripts may test for, kebab-case.
    pub code: String,
    /// What was found, one sentence.
    pub what: String,
    /// What it does to a measurement, one sentence.
    pub effect: String,
    /// The command (or the step) that would mend it; nothing is changed by us.
    pub fix: Option<String>,
}
