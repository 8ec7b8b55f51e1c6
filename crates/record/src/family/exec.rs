//! The toll of a program: one row for the whole, one for each boundary that it crossed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecAsked {
    /// The command and its arguments; of a process that was already running, those with which it was started.
    pub command: Vec<String>,
    /// Whether the process was already running.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub attached: bool,
}

/// What was found of the program as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecFound {
    /// What counted: `bpf`, `perf`, `ptrace`, or `none` for the kernel's accounts alone.
    pub source: String,
    /// Exit status; absent when it did not exit by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<i32>,
    /// The signal that killed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Whether it was ended because its time was up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub time_up: bool,
    /// Tasks of it that were still running at its end, and no longer counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_running: Option<u64>,
    /// By how much counting slowed a run that was made for counting alone: its wall time over that of the others. Absent with
    /// `ptrace`, the times are those of the traced run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counting_slowdown: Option<f64>,
    /// How its calls were timed, if it called too often to time them all along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<TimingWindows>,
    /// Ids of the runs that the prices are from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priced_by: Vec<String>,
    /// Where the prices are from: `saved`, measured `before and after` the command, or `beside the command` if the others contradict
    /// what was measured there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_source: Option<String>,
    /// Refill after switches, where a saved ring says what it costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refill: Option<RefillFound>,
    /// What would save, largest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub savings: Vec<Saving>,
    /// Each run, if there were several. The figures of the rows are medians.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<RepeatFound>,
    /// The call sites that pay most, the most expensive first, if they were wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<CallSite>,
}

/// One of several runs of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepeatFound {
    /// Seconds from its start to its end.
    pub elapsed_seconds: f64,
    /// Seconds of CPU time.
    pub cpu_seconds: f64,
    /// Whether it was traced: its times are in no median.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub traced: bool,
    /// Exit status; absent when it did not exit by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<i32>,
    /// The signal that killed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
}

/// Calls are counted by their exits, and timed in short windows, so that counting slows the program less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimingWindows {
    /// Windows.
    pub windows: u64,
    /// Calls that were timed in them.
    pub timed: u64,
    /// Calls between them, which were counted. Their times are estimated from those in the windows.
    pub unseen: u64,
}

/// What filling caches again after switches costs: contained in the parts of the bill, and known as a range only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefillFound {
    /// Switches to another task.
    pub switches: u64,
    /// The size of the working set that costs most.
    pub working_set_bytes: u64,
    /// Nanoseconds after one switch: low and high.
    pub each_ns: [f64; 2],
    /// Id of the ring whose fit this is from.
    pub run: String,
    /// What limits the range more than the working set: `misses` or `CPU time`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub narrowed_by: Option<String>,
    /// Loads that missed the first data cache, in the program and the kernel, where the processor counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misses: Option<u64>,
}

/// Something that would save, computed from counts and prices alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Saving {
    /// What to change.
    pub change: String,
    /// How many crossings would not happen.
    pub crossings: u64,
    /// What each costs now, in nanoseconds: low and high.
    pub each_ns: [f64; 2],
    /// What it costs in the changed way, in nanoseconds.
    pub instead_ns: f64,
}

/// What was found at one boundary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TollFound {
    /// What kind of boundary: `system call`, `fault`, `switch`, `wake-up`, `signal`, `task`, `exec`, `interrupt`.
    pub kind: String,
    /// Its name: a system call's, or the kind of fault.
    pub name: String,
    /// System calls that returned an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<u64>,
    /// Reads or writes that moved one byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_byte: Option<u64>,
    /// Crossings of each run that was counted, if there were several. Those of the row are their median.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<u64>,
    /// The price of one crossing in and out, in nanoseconds, with its interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_ns: Option<[f64; 3]>,
}

/// A place in the program that crosses a boundary, with the functions that led to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallSite {
    /// What kind of boundary: `system call` or `fault`.
    pub kind: String,
    /// Its name, as that of the boundary's own row.
    pub name: String,
    /// Crossings from here.
    pub crossings: u64,
    /// Toll and kernel work of all of them, in nanoseconds, with the interval; absent without prices and times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns: Option<[f64; 3]>,
    /// The functions, the innermost first.
    pub frames: Vec<Frame>,
    /// Whether these are all functions up to the beginning of the program or thread. Code without frame pointers ends a walk early.
    pub complete: bool,
}

/// A function that was being executed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// Its name; absent where the file has no symbol, or is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The file that contains its code; empty for code that is of no file.
    pub file: String,
    /// The place in that file, in bytes; the address, for code that is of no file.
    pub offset: u64,
    /// Source file and line, where the file says them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}
