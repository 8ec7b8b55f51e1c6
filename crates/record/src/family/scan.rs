//! Scans of a mapped file that may not fit into memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// The scan.
#[skip_serializing_none]
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
    pub file: Option<String>,
    /// Bytes of memory that the scan may use.
    pub memory_limit: Option<u64>,
}

/// What the scan found.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScanFound {
    /// Size of a page.
    pub page_bytes: u64,
    /// Size of the whole file.
    pub file_bytes: u64,
    /// Read-ahead of the file's device, in KiB.
    pub read_ahead_kib: Option<u64>,
    /// What enforced the memory limit.
    pub limited_by: Option<String>,
}
