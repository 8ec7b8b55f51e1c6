//! The events that can be counted.

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Instructions retired.
    Instructions,
    /// Core cycles.
    Cycles,
    /// Accesses to the last cache that the processor counts.
    CacheReferences,
    /// Those that missed.
    CacheMisses,
    /// Loads from the first data cache.
    L1dLoads,
    /// Those that missed.
    L1dLoadMisses,
    /// Loads that used the data TLB.
    DtlbLoads,
    /// Those that missed.
    DtlbLoadMisses,
    /// Context switches, counted by the kernel.
    ContextSwitches,
    /// Page faults, counted by the kernel.
    PageFaults,
    /// Moves to another CPU, counted by the kernel.
    Migrations,
}

impl Event {
    /// The name that perf gives it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Cycles => "cycles",
            Self::CacheReferences => "cache-references",
            Self::CacheMisses => "cache-misses",
            Self::L1dLoads => "L1d-loads",
            Self::L1dLoadMisses => "L1d-load-misses",
            Self::DtlbLoads => "dTLB-loads",
            Self::DtlbLoadMisses => "dTLB-load-misses",
            Self::ContextSwitches => "context-switches",
            Self::PageFaults => "page-faults",
            Self::Migrations => "migrations",
        }
    }

    /// Whether the processor counts it, and not the kernel.
    pub fn hardware(self) -> bool {
        !matches!(self, Self::ContextSwitches | Self::PageFaults | Self::Migrations)
    }

    /// The event of which this one counts a part.
    pub(super) fn part_of(self) -> Option<Self> {
        match self {
            Self::CacheMisses => Some(Self::CacheReferences),
            Self::L1dLoadMisses => Some(Self::L1dLoads),
            Self::DtlbLoadMisses => Some(Self::DtlbLoads),
            _ => None,
        }
    }

    /// Whether a running program always causes some.
    pub(super) fn never_zero(self) -> bool {
        matches!(self, Self::Instructions | Self::Cycles | Self::L1dLoads | Self::DtlbLoads)
    }
}

/// The mode of the processor in which events count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In programs.
    User,
    /// In the kernel.
    Kernel,
    /// In both.
    Both,
}

/// An event and the mode in which it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The event.
    pub event: Event,
    /// The mode.
    pub mode: Mode,
}

impl Counter {
    /// The key in the record, as perf writes it: `cache-misses:u`.
    pub fn name(self) -> String {
        let mode = match self.mode {
            Mode::User => ":u",
            Mode::Kernel => ":k",
            Mode::Both => "",
        };
        format!("{}{mode}", self.event.name())
    }
}

/// The groups, each small enough for every processor's counters: two events of one mode.
pub fn groups() -> Vec<Vec<Counter>> {
    const PAIRS: [[Event; 2]; 4] = [
        [Event::Instructions, Event::Cycles],
        [Event::CacheReferences, Event::CacheMisses],
        [Event::L1dLoads, Event::L1dLoadMisses],
        [Event::DtlbLoads, Event::DtlbLoadMisses],
    ];
    let pair = |mode| PAIRS.into_iter().map(move |pair| pair.map(|event| Counter { event, mode }).into());
    let software = [Event::ContextSwitches, Event::PageFaults, Event::Migrations];
    let software = software.map(|event| Counter { event, mode: Mode::Both }).into();
    pair(Mode::User).chain(pair(Mode::Kernel)).chain([software]).collect()
}
