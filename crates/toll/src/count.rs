//! The counts of a source, in the same form from each.

use crate::call::is_i386;
use std::collections::BTreeMap;

/// A source of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// BPF programs in the kernel: counts and times.
    Bpf,
    /// Perf events on tracepoints: counts.
    Perf,
    /// A tracer that stops the program at each call: counts, of a run of its own.
    Ptrace,
    /// The kernel's accounts alone.
    Accounts,
}

impl Source {
    /// Its name on the command line and in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bpf => "bpf",
            Self::Perf => "perf",
            Self::Ptrace => "ptrace",
            Self::Accounts => "none",
        }
    }
}

/// The kind of a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A system call.
    Call,
    /// A page fault.
    Fault,
    /// A switch to another task.
    Switch,
    /// A task made runnable by this program.
    Wake,
    /// A signal delivered to this program.
    Signal,
    /// A new process or thread.
    Task,
    /// A program executed.
    Exec,
    /// An interrupt that arrived while this program ran.
    Interrupt,
}

impl Kind {
    /// Whether it is a way of its own into the kernel and back. The others happen inside calls and interrupts.
    #[must_use]
    pub fn is_crossing(self) -> bool {
        matches!(self, Self::Call | Self::Fault | Self::Signal)
    }

    /// In the record: `system call`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Call => "system call",
            Self::Fault => "fault",
            Self::Switch => "switch",
            Self::Wake => "wake-up",
            Self::Signal => "signal",
            Self::Task => "task",
            Self::Exec => "exec",
            Self::Interrupt => "interrupt",
        }
    }
}

/// The counts of one boundary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Crossings.
    pub count: u64,
    /// Calls that returned an error, where that was counted.
    pub errors: Option<u64>,
    /// Reads and writes that moved one byte, where that was counted.
    pub one_byte: Option<u64>,
    /// Nanoseconds in the kernel on the CPU, where they were timed.
    pub kernel_ns: Option<u64>,
    /// Half the 95 % interval of these, where only some were timed.
    pub kernel_error_ns: u64,
    /// Nanoseconds off the CPU, where they were timed.
    pub waiting_ns: Option<u64>,
}

/// Where the CPU time of the program was, by time stamps in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamped {
    /// On the CPU, from switch to switch.
    pub cpu_ns: u64,
    /// From a return to user mode to the next entry, with the ways there and back. Negative if the calls that were timed took
    /// longer than those that were not.
    pub user_ns: i64,
    /// Half the 95 % interval of these, where only some calls were timed.
    pub user_error_ns: u64,
    /// Interrupts that arrived meanwhile.
    pub interrupts_ns: u64,
    /// Off the CPU although it could have run in user mode.
    pub preempted_ns: u64,
    /// In the kernel before the first return to user mode: the other half of starting a task.
    pub birth_ns: u64,
    /// On the CPU before the command began: the first half of its execution.
    pub before_ns: u64,
}

/// The kernel's account of the tasks that were counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounted {
    /// Time on a CPU.
    pub ran_ns: u64,
    /// Switches to another task.
    pub switches: u64,
    /// Page faults, with those that it takes itself.
    pub faults: u64,
    /// Tasks that were on a CPU at the end, whose time since the last tick is missing.
    pub running: u64,
    /// What the hypervisor took from all CPUs meanwhile, in nanoseconds: clocks go on, and no task is charged.
    pub stolen_ns: u64,
}

/// All counts of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// By kind and name.
    pub boundaries: BTreeMap<(Kind, String), Tally>,
    /// Times, where they were taken.
    pub stamped: Option<Stamped>,
    /// The kernel's accounts of the same tasks, where the source follows each of them.
    pub accounted: Option<Accounted>,
    /// Tasks that were still running when the command ended.
    pub left_running: u64,
    /// Tasks that could not be followed.
    pub lost: u64,
    /// Programs that the source may not count, from their execution on.
    pub hidden: u64,
    /// Crossings of which only the number is known, because what names them did not fit.
    pub unnamed: u64,
    /// Calls whose entry was not seen, because the program calls too often: their time is estimated from others.
    pub unseen: u64,
    /// Calls that were timed in windows meanwhile, and the number of windows.
    pub windowed: u64,
    /// How many windows these were in.
    pub windows: u64,
    /// Crossings without their call site, because there are too many sites.
    pub sites_lost: u64,
}

impl Counts {
    /// The tally of a boundary, made when it is new.
    pub(crate) fn at(&mut self, kind: Kind, name: impl Into<String>) -> &mut Tally {
        self.boundaries.entry((kind, name.into())).or_default()
    }

    /// Adds crossings, if there were any.
    pub(crate) fn add(&mut self, kind: Kind, name: &str, count: u64) {
        if count > 0 {
            self.at(kind, name).count += count;
        }
    }

    /// How often a boundary was crossed.
    #[must_use]
    pub fn count(&self, kind: Kind, name: &str) -> u64 {
        self.boundaries.get(&(kind, name.to_owned())).map_or(0, |tally| tally.count)
    }

    /// Whether the program made calls of i386.
    pub(crate) fn has_i386(&self) -> bool {
        self.boundaries.keys().any(|(kind, name)| *kind == Kind::Call && is_i386(name))
    }

    /// Switches of a task to another one.
    pub(crate) fn switches(&self) -> u64 {
        self.count(Kind::Switch, "voluntary") + self.count(Kind::Switch, "involuntary")
    }

    /// How often boundaries of one kind were crossed.
    #[must_use]
    pub fn total(&self, kind: Kind) -> u64 {
        self.boundaries.iter().filter(|((of, _), _)| *of == kind).map(|(_, tally)| tally.count).sum()
    }
}
