//! The specification of a ring, in a form that is sent to a worker process.

use crate::task::Tasks;
use serde::{Deserialize, Serialize};
use tollgate_measure::worker::Threads;
use tollgate_measure::{Claim, Meta, Placement};
use tollgate_record::Per;
use tollgate_record::family::RingAsked;

/// The medium of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// A pipe between each two tasks.
    Pipe,
    /// A word in shared memory and the futex calls.
    Futex,
    /// An eventfd.
    Eventfd,
    /// A Unix stream socket pair.
    Socketpair,
}

impl Link {
    /// Each medium by its name on the command line, with a description.
    pub const NAMES: &[(&str, Self, &str)] = &[
        ("pipe", Self::Pipe, "A byte through a pipe"),
        ("futex", Self::Futex, "A word in shared memory and the futex calls"),
        ("eventfd", Self::Eventfd, "A count through an eventfd"),
        ("socketpair", Self::Socketpair, "A byte through a Unix stream socket pair"),
    ];

    /// The probe's name in the record.
    pub fn id(self) -> &'static str {
        match self {
            Self::Pipe => "ring/pipe",
            Self::Futex => "ring/futex",
            Self::Eventfd => "ring/eventfd",
            Self::Socketpair => "ring/socketpair",
        }
    }

    /// Descriptors that one link takes.
    pub(super) fn descriptors(self) -> u64 {
        match self {
            Self::Pipe | Self::Socketpair => 2,
            Self::Eventfd => 1,
            Self::Futex => 0,
        }
    }
}

/// How a task walks over its array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Walk {
    /// Adds up its words from the first to the last, as lmbench does.
    Sum,
    /// Follows a chain through all its lines in random order: each address depends on the line before.
    Random,
    /// Writes its words from the first to the last.
    Write,
}

impl Walk {
    /// Each walk by its name on the command line, with a description.
    pub const NAMES: &[(&str, Self, &str)] = &[
        ("sum", Self::Sum, "Adds up its words in order, as lmbench does"),
        ("random", Self::Random, "Follows a chain through its lines in random order"),
        ("write", Self::Write, "Writes its words in order"),
    ];
}

/// The pages of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pages {
    /// Pages of the base size, touched in order.
    #[serde(rename = "4k")]
    Base,
    /// Transparent huge pages.
    Huge,
    /// Pages of the base size, touched in scattered order, so that neighbors are in different places.
    Random,
}

impl Pages {
    /// Each kind of page by its name on the command line, with a description.
    pub const NAMES: &[(&str, Self, &str)] = &[
        ("4k", Self::Base, "Pages of the base size, touched in order"),
        ("huge", Self::Huge, "Transparent huge pages"),
        ("random", Self::Random, "Pages of the base size, touched in scattered order"),
    ];
}

/// The kinds of tasks, by name on the command line.
pub const THREADS_OR_PROCESSES: &[(&str, Tasks, &str)] = &[
    ("process", Tasks::Processes, "Processes, each with an address space of its own"),
    ("thread", Tasks::Threads, "Threads of one process"),
];

/// How many threads the measuring process of these rings has. It is their first task: if the others are processes, it has
/// one thread as they have, and as lmbench's. Each hop makes two system calls that take a descriptor.
pub fn threads_beside(rings: &[Spec]) -> Threads {
    let only_processes = !rings.is_empty() && rings.iter().all(|ring| !ring.threads);
    if only_processes { Threads::One } else { Threads::Several }
}

/// The name of a value on the command line, which is that in the record.
fn name_in<T: PartialEq>(names: &[(&str, T, &str)], value: T) -> Option<String> {
    names.iter().find(|(_, named, _)| *named == value).map(|(name, ..)| (*name).to_owned())
}

/// One ring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The medium of the token.
    pub link: Link,
    /// Whether the tasks are threads of one process; otherwise each is a process.
    pub threads: bool,
    /// Number of tasks; one passes the token to itself.
    pub procs: u32,
    /// Size of each task's array in bytes.
    pub bytes: u64,
    /// How a task walks over its array.
    pub walk: Walk,
    /// The pages of the arrays.
    pub pages: Pages,
    /// Task `i` runs on entry `i` modulo the length; the first is the measured CPU.
    pub cpus: Vec<usize>,
    /// Microseconds of laps before anything is timed, besides the sampler's own warm-up.
    pub warm_us: u64,
    /// Whether opening it also counts events in its tasks, which are then among the parameters.
    pub counters: bool,
}

impl Spec {
    /// The ring of lmbench: processes on one CPU pass a byte through pipes, and each sums up its array.
    pub fn like_lmbench(procs: u32, bytes: u64, cpu: usize) -> Self {
        Self {
            link: Link::Pipe,
            threads: false,
            procs,
            bytes,
            walk: Walk::Sum,
            pages: Pages::Base,
            cpus: vec![cpu],
            warm_us: 0,
            counters: false,
        }
    }

    /// The same ring with other tasks and arrays.
    #[must_use]
    pub fn of(&self, procs: u32, bytes: u64) -> Self {
        Self { procs, bytes, ..self.clone() }
    }

    /// The requested cell, for the record.
    pub fn asked(&self) -> RingAsked {
        RingAsked {
            procs: self.procs,
            size: self.bytes,
            tasks: name_in(THREADS_OR_PROCESSES, self.tasks()),
            walk: name_in(Walk::NAMES, self.walk),
            pages: name_in(Pages::NAMES, self.pages),
            cpus: Some(self.cpus.clone()),
        }
    }

    /// The kind of the tasks.
    pub fn tasks(&self) -> Tasks {
        if self.threads { Tasks::Threads } else { Tasks::Processes }
    }

    /// The memory of all arrays; `None` if that overflows.
    pub fn footprint(&self) -> Option<u64> {
        self.bytes.checked_mul(self.procs.into())
    }

    /// The CPUs of the tasks other than the first.
    pub(super) fn peer_cpus(&self) -> Vec<usize> {
        self.cpus.iter().copied().cycle().take(self.procs as usize).skip(1).collect()
    }

    /// The metadata for the sampler.
    pub(super) fn meta(&self) -> Meta {
        const SWITCHES: Claim = Claim {
            key: "switches-per-crossing",
            per_crossing: 1.0,
            tolerance: 0.025,
            // The figure is for a hop; more switches make the hop more expensive.
            divides: false,
        };
        let alone = self.procs <= 1;
        Meta {
            id: self.link.id(),
            what: "one hop of a token around a ring of tasks",
            per: if alone { Per::Operation } else { Per::Switch },
            crossings_per_pass: self.procs.max(1),
            least_passes: 1,
            placement: Placement::One,
            proof: if alone { &[] } else { const { &[SWITCHES] } },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rings_of_processes_are_measured_with_one_thread() {
        let processes = Spec::like_lmbench(2, 0, 0);
        let threads = Spec { threads: true, ..processes.clone() };
        assert_eq!(threads_beside(&[processes.clone(), processes.of(1, 4096)]), Threads::One);
        assert_eq!(threads_beside(&[processes, threads]), Threads::Several);
        assert_eq!(threads_beside(&[]), Threads::Several);
    }
}
