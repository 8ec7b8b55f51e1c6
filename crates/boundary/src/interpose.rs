//! Interposition: what a sandbox, a tracer or a probe adds to each call.
//!
//! Each row is a crossing with something in its way. Right after each of its batches the same crossing is timed without it;
//! the difference of the two is the tax. The rows are not in the ladder.

mod audit;
mod dispatch;
mod landlock;
mod notify;
mod point;
mod preload;
mod protection_key;
mod ptrace;
mod restartable;
mod seccomp;
mod shootdown;
mod taxed;
mod tracepoint;
mod userfaultfd;

use tollgate_measure::Probe;

/// Every interposition, in the order of the list.
pub(crate) const ROWS: &[&dyn Probe] = &[
    &seccomp::CACHED,
    &seccomp::RULES_1,
    &seccomp::RULES_50,
    &seccomp::RULES_300,
    &notify::NOTIFY,
    &ptrace::SYSCALL,
    &ptrace::SECCOMP,
    &dispatch::ALLOWED,
    &dispatch::BLOCKED,
    &audit::AUDIT,
    &landlock::OPEN,
    &point::UPROBE,
    &point::UPROBE_NOP,
    &point::URETPROBE,
    &point::KPROBE,
    &point::KRETPROBE,
    &preload::PRELOAD,
    &tracepoint::RAW_TRACEPOINT,
    &userfaultfd::SAME_CPU,
    &userfaultfd::OTHER_CPU,
    &shootdown::MEMBARRIER,
    &shootdown::MPROTECT,
    &protection_key::WRITE,
    &restartable::ABORT,
];
