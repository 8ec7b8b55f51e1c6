//! What a ring is made of, in a form that a worker process can be told.

use crate::task::Tasks;
use serde::{Deserialize, Serialize};
use tollgate_measure::{Claim, Meta, Placement};
use tollgate_record::Per;
use tollgate_record::family::RingAsked;

/// What the token travels over.
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

/// How a task goes over its array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Walk {
    /// Adds up its words from the first to the last, as lmbench does.
    Sum,
    /// Follows a chain through all its lines in random order: each address hangs on the line before.
    Random,
    /// Writes its words from the first to the last.
    Write,
}

impl Walk {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Random => "random",
            Self::Write => "write",
        }
    }
}

/// What pages an array lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pages {
    /// Pages of the base size, touched in order.
    #[serde(rename = "4k")]
    Base,
    /// Transparent huge pages.
    Huge,
    /// Pages of the base size, touched in scattered order, so that neighbours come from different places.
    Random,
}

impl Pages {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Base => "4k",
            Self::Huge => "huge",
            Self::Random => "random",
        }
    }
}

/// One ring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// What the token travels over.
    pub link: Link,
    /// Whether the tasks are threads of one process; otherwise each is a process.
    pub threads: bool,
    /// Number of tasks; one passes the token to itself.
    pub procs: u32,
    /// Size of each task's array in bytes.
    pub bytes: u64,
    /// How a task goes over it.
    pub walk: Walk,
    /// What it lies on.
    pub pages: Pages,
    /// Task `i` runs on entry `i` modulo the length; the first is the measured CPU.
    pub cpus: Vec<usize>,
    /// For how long the token goes around before anything is timed, besides the sampler's own warm-up.
    pub warm_us: u64,
    /// Whether opening it also counts events in its tasks, which are then among the parameters.
    pub counters: bool,
}

impl Spec {
    /// The same ring with other tasks and arrays.
    #[must_use]
    pub fn of(&self, procs: u32, bytes: u64) -> Self {
        Self { procs, bytes, ..self.clone() }
    }

    /// What the record says was asked for.
    pub fn asked(&self) -> RingAsked {
        RingAsked {
            procs: self.procs,
            size: self.bytes,
            tasks: Some(if self.threads { "thread" } else { "process" }.into()),
            walk: Some(self.walk.name().into()),
            pages: Some(self.pages.name().into()),
            cpus: Some(self.cpus.clone()),
        }
    }

    /// What the tasks are.
    pub fn tasks(&self) -> Tasks {
        if self.threads { Tasks::Threads } else { Tasks::Processes }
    }

    /// The memory of all arrays; `None` when that is more than a number can say.
    pub fn footprint(&self) -> Option<u64> {
        self.bytes.checked_mul(self.procs.into())
    }

    /// The CPUs of the tasks other than the first.
    pub(super) fn peer_cpus(&self) -> Vec<usize> {
        self.cpus.iter().copied().cycle().take(self.procs as usize).skip(1).collect()
    }

    /// What the sampler must know of it.
    pub(super) fn meta(&self) -> Meta {
        const SWITCHES: Claim = Claim {
            key: "switches_per_crossing",
            per_crossing: 1.0,
            tolerance: 0.025,
            // A hop is what is asked for; a hop that takes more switches is a dearer hop.
            divides: false,
        };
        let alone = self.procs <= 1;
        Meta {
            id: self.link.id(),
            what: "one hop of a token around a ring of tasks",
            per: if alone { Per::Operation } else { Per::Switch },
            crossings_per_pass: self.procs.max(1),
            placement: Placement::One,
            proof: if alone { &[] } else { const { &[SWITCHES] } },
        }
    }
}
