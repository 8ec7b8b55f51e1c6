//! The machine that was measured, as far as it tells. A fact that cannot be read is absent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The machine that was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Host {
    /// Node name of the system.
    pub name: String,
    /// Instruction set architecture: `x86_64`, `aarch64`, `riscv64`.
    pub arch: String,
    /// The processor.
    pub cpu: Cpu,
    /// One entry for each cache that the first allowed CPU can reach.
    pub caches: Vec<Cache>,
    /// The kernel.
    pub kernel: Kernel,
    /// The clock that timed.
    pub clock: Clock,
    /// Hypervisor that this system runs under, by the name it gives itself; absent on bare metal.
    pub hypervisor: Option<String>,
    /// Physical memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Base page size in bytes.
    pub page_bytes: u64,
    /// Transparent huge pages: the choice in force (`always`, `madvise`, `never`).
    pub transparent_huge_pages: Option<String>,
    /// Limits of the control group.
    pub cgroup: Cgroup,
    /// Limits of the process.
    pub limits: Limits,
    /// Hardware performance counters.
    pub pmu: Pmu,
    /// User id that measured.
    pub uid: u32,
    /// Capabilities in force that widen what can be measured (`sys_admin`, `perfmon`, `bpf`, ...).
    pub capabilities: Vec<String>,
    /// The machine's or the virtual machine's product name.
    pub machine: Option<String>,
    /// Memory that was available without swapping when the host was described, in bytes.
    pub memory_available_bytes: Option<u64>,
    /// Whether free memory is given back to the host (a balloon with free page reporting); absent
    /// without a balloon.
    pub free_page_reporting: Option<bool>,
    /// Swap space in bytes; 0 means none.
    pub swap_bytes: Option<u64>,
    /// Swap space in use when the host was described, in bytes.
    pub swap_used_bytes: Option<u64>,
    /// Directories of the system that are not there, so that facts are missing (`/proc`, `/sys`), and
    /// files that are hidden in those that are (`/proc/stat`).
    pub unreadable: Vec<String>,
    /// Options of /proc that hide something, as mounted: `hidepid=2`, `subset=pid`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proc_options: Vec<String>,
    /// Whether users have other numbers here than on the machine (a rootless container), so that root is
    /// root of a part only; absent where the system does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_namespace: Option<bool>,
    /// Seconds by which the monotonic clock of this time namespace is ahead; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monotonic_offset_s: Option<i64>,
}

impl Host {
    /// Whether a crossing costs the same on both: one machine, with the same kernel, mitigations and microcode.
    #[must_use]
    pub fn crosses_like(&self, other: &Self) -> bool {
        let facts = |host: &Self| {
            let (cpu, kernel) = (host.cpu.clone(), host.kernel.clone());
            (host.name.clone(), cpu.model, cpu.microcode, kernel.release, kernel.version, kernel.mitigations)
        };
        facts(self) == facts(other)
    }
}

/// The processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cpu {
    /// The maker's name for it.
    pub model: String,
    /// `AuthenticAMD`, `GenuineIntel`, implementer code on Arm.
    pub vendor: String,
    /// Family, model and stepping (x86) as decimal numbers.
    pub family_model_stepping: Option<[u32; 3]>,
    /// Microcode revision as the kernel prints it.
    pub microcode: Option<String>,
    /// CPUs online in the system.
    pub online: Vec<usize>,
    /// CPUs that are built in, online or not.
    pub present: Vec<usize>,
    /// CPUs that this process may use.
    pub allowed: Vec<usize>,
    /// Whether two hardware threads share a core among the online CPUs.
    pub smt: Option<bool>,
    /// The online CPUs in groups that share a core; empty where the system does not tell.
    pub cores: Vec<Vec<usize>>,
    /// The online CPUs in groups that share a socket; empty where the system does not tell.
    pub packages: Vec<Vec<usize>>,
    /// CPUs that the scheduler leaves alone (`isolcpus=`).
    pub isolated: Vec<usize>,
    /// CPUs whose tick stops while one task runs (`nohz_full=`).
    pub tickless: Vec<usize>,
    /// CPU that was measured on.
    pub measured: Option<usize>,
    /// CPU of the other side in two-CPU probes.
    pub peer: Option<usize>,
    /// How the two relate.
    pub peer_relation: Option<String>,
    /// Frequency governor.
    pub governor: Option<String>,
    /// Frequency driver.
    pub frequency_driver: Option<String>,
    /// Whether turbo (boost) is on.
    pub turbo: Option<bool>,
    /// Core frequency measured before the run, in Hz.
    pub core_hz_before: Option<f64>,
    /// Core frequency measured after the run, in Hz.
    pub core_hz_after: Option<f64>,
    /// Flags of the processor that change what a crossing costs (`pti`, `pcid`, `invpcid`, `fsgsbase`).
    pub flags: Vec<String>,
    /// Implementer and part on Arm, vendor and architecture id on RISC-V, as the kernel prints them.
    pub part: Option<String>,
    /// The RISC-V `isa` line.
    pub isa: Option<String>,
    /// What the processor does when it has nothing to do.
    pub idle: Idle,
}

/// What the processor does when it has nothing to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Idle {
    /// Idle driver: `intel_idle`, `acpi_idle`, `haltpoll`, `psci_idle`.
    pub driver: Option<String>,
    /// Idle governor: `menu`, `teo`, `haltpoll`.
    pub governor: Option<String>,
    /// Idle states, shallowest first.
    pub states: Vec<IdleState>,
    /// Nanoseconds that an idle guest polls before it gives its CPU back (`haltpoll` only).
    pub halt_poll_ns: Option<u64>,
}

/// One idle state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IdleState {
    /// The driver's name for it.
    pub name: String,
    /// Microseconds that it takes to leave, as the driver states them.
    pub exit_us: u64,
    /// Whether it was switched off.
    pub disabled: bool,
}

/// One cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cache {
    /// 1 for the level next to the core.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Line size in bytes.
    pub line_bytes: Option<u32>,
    /// Ways of associativity.
    pub ways: Option<u32>,
    /// CPUs that share it.
    pub shared_by: Vec<usize>,
}

/// The kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Kernel {
    /// `uname -r`.
    pub release: String,
    /// `uname -v`.
    pub version: String,
    /// Words of the boot command line that change what a crossing costs.
    pub command_line: Vec<String>,
    /// What the kernel says of each hardware vulnerability.
    pub mitigations: BTreeMap<String, String>,
    /// `kernel.perf_event_paranoid`.
    pub perf_event_paranoid: Option<i32>,
    /// `kernel.io_uring_disabled`.
    pub io_uring_disabled: Option<i32>,
    /// `kernel.perf_user_access`: whether programs may read counters without a system call (Arm).
    pub perf_user_access: Option<i32>,
    /// Whether a seccomp filter is in force for this process.
    pub seccomp: Option<bool>,
    /// Whether a debugger or tracer is attached to this process.
    pub traced: Option<bool>,
    /// Whether tasks are grouped by session for scheduling (`kernel.sched_autogroup_enabled`).
    pub autogroup: Option<bool>,
}

/// The clock that timed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Clock {
    /// The counter that timed (`tsc`, `cntvct`, `rdtime`), or `os`.
    pub source: String,
    /// Ticks per second, measured against CLOCK_MONOTONIC_RAW.
    pub hz: f64,
    /// Ticks per second as the processor or kernel states them.
    pub nominal_hz: Option<f64>,
    /// Whether the counter runs at a constant rate in all power states.
    pub invariant: Option<bool>,
    /// Median cost of an empty start/stop pair in ticks.
    pub pair_ticks: f64,
    /// The kernel's own current clock source.
    pub kernel_clocksource: Option<String>,
}

/// Limits of the control group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cgroup {
    /// 1 or 2; absent without control groups.
    pub version: Option<u32>,
    /// CPU bandwidth limit in CPUs (quota over period).
    pub cpu_max: Option<f64>,
    /// Memory limit in bytes.
    pub memory_max: Option<u64>,
    /// Task limit.
    pub pids_max: Option<u64>,
}

/// Limits of the process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Soft limit of open files; absent means none.
    pub open_files: Option<u64>,
    /// Soft limit of processes of the user; absent means none.
    pub processes: Option<u64>,
    /// Soft limit of the address space in bytes; absent means none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_space_bytes: Option<u64>,
    /// Soft limit of a file's size in bytes; absent means none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_bytes: Option<u64>,
    /// Soft limit of locked memory in bytes; absent means none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked_bytes: Option<u64>,
}

/// Hardware performance counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pmu {
    /// Whether they can be read here.
    pub present: bool,
    /// Why not.
    pub reason: Option<String>,
}
