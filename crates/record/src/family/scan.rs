//! Scans of a mapped file that may not fit into memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The scan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScanAsked {
    /// Bytes of the file that are scanned.
    pub size: u64,
    /// Order of the touches: `sequential`, `random`, ...
    pub pattern: String,
    /// The advice that `madvise` gives the kernel.
    pub advice: String,
    /// Whether the page cache was left as it was.
    pub warm: bool,
    /// The file; absent when the command made one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Bytes of memory that the scan may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<u64>,
}

/// What the scan found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScanFound {
    /// Size of a page.
    pub page_bytes: u64,
    /// Size of the whole file.
    pub file_bytes: u64,
    /// Read-ahead of the file's device, in KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ahead_kib: Option<u64>,
    /// What enforced the memory limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<String>,
}
