//! What `tollgate doctor` found on a host: a fact, what it does to a measurement, and what would fix it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// As it should be.
    Ok,
    /// Worth knowing; the figures hold.
    Info,
    /// It makes figures wrong, unsteady or missing.
    Spoils,
}

/// One thing found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// Stable name that scripts may test for, kebab-case.
    pub code: String,
    /// What was found, one plain sentence.
    pub what: String,
    /// What it does to a measurement; empty when it does nothing.
    #[serde(default)]
    pub effect: String,
    /// The command, or the step, that would fix it; absent when nothing can or need be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}
