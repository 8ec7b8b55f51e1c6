//! Mechanisms of this host: the probes, and the crossings timed inside a bare guest.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// What a probe was made to do; a field that does not apply to it is absent.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeAsked {
    /// The clock that it reads, in the words of clock_gettime(2).
    pub clock: Option<String>,
    /// The number of the system call.
    pub number: Option<i64>,
    /// Entries of the submission queue.
    pub entries: Option<u32>,
    /// Flags that set up the queue.
    pub setup_flags: Option<String>,
    /// Pages of the region whose first touches fault.
    pub region_pages: Option<u64>,
    /// What kind of file is mapped.
    pub file: Option<String>,
    /// Bytes that one call reads.
    pub bytes: Option<u64>,
    /// Distance between two touches, in bytes.
    pub bytes_between_touches: Option<u64>,
    /// What is spoiled before each crossing: `tlb-flushed` or `caches-swept`.
    pub state: Option<String>,
    /// Pages whose translations are flushed before each crossing.
    pub pages_flushed: Option<u64>,
    /// Bytes that are read before each crossing.
    pub bytes_swept: Option<u64>,
    /// The seccomp mode that the probe sets for itself.
    pub seccomp: Option<String>,
    /// What a fiber switch saves and restores.
    pub kept: Option<String>,
    /// The floating-point control register of both sides, by name and value.
    pub float_control: Option<String>,
    /// Size of a fiber's stack.
    pub stack_bytes: Option<u64>,
    /// The leaf of `cpuid`.
    pub leaf: Option<u32>,
    /// The function that is called.
    pub function: Option<String>,
}

/// What a probe found on this host.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeFound {
    /// The seccomp mode in force, in the kernel's words (proc(5)).
    pub seccomp: Option<String>,
    /// Size of a page.
    pub page_bytes: Option<u64>,
    /// Size of a huge page.
    pub huge_page_bytes: Option<u64>,
    /// Pages that one fault maps.
    pub pages_per_fault: Option<f64>,
    /// The shared library that holds the function.
    pub library: Option<String>,
    /// The hypervisor that answers.
    pub hypervisor: Option<String>,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
    /// Whether the call was shown to stay in user mode.
    pub user_mode: Option<String>,
    /// What the parent of new processes has mapped.
    pub address_space: Option<String>,
    /// Resident memory of that parent, in KiB.
    pub resident_kib: Option<u64>,
    /// Number of mappings of that parent.
    pub mappings: Option<u64>,
}

/// What the bare guests showed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuestFound {
    /// Virtual machines that gave the row.
    pub virtual_machines: u64,
    /// How many times as long a pair of clock reads takes in ring 0 as in ring 3; far above 1 where ring 0 is emulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring_ratio: Option<f64>,
}
