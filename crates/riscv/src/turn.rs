//! Several harts: they take turns on the one that runs.
//!
//! Each turn has the same number of steps, and all turns of a round begin at the same simulated time, as if the
//! harts ran side by side. So what happens depends on nothing but the guest.

use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::hart::Hart;

/// Steps of a turn, and nanoseconds of a round.
pub(crate) const QUANTUM: u64 = 10_000;

/// The state of one hart.
#[derive(Serialize, Deserialize)]
pub(crate) struct Core {
    pub(crate) hart: Hart,
    #[serde(skip, default = "Engine::new")]
    pub(crate) engine: Engine,
    /// In `wfi`.
    pub(crate) waiting: bool,
    /// Interrupt lines from devices that were high when it ran last.
    pub(crate) lines: u64,
    /// Whether it runs at all; firmware stops and starts harts.
    pub(crate) started: bool,
}

impl Core {
    pub(crate) fn new(hart: Hart) -> Self {
        Core { hart, engine: Engine::new(), waiting: false, lines: 0, started: true }
    }
}

/// Whose turn it is.
#[derive(Serialize, Deserialize)]
pub(crate) struct Turns {
    /// The hart that runs.
    pub(crate) current: usize,
    /// All harts; the place of the one that runs holds a placeholder. Empty if there is only one.
    pub(crate) parked: Vec<Core>,
    /// Steps left in this turn.
    pub(crate) left: u64,
    /// Nothing more happens in this turn.
    pub(crate) over: bool,
    /// The clock at which the turns of this round began.
    pub(crate) start: u64,
    /// The instructions that the running hart had retired then.
    pub(crate) retired: u64,
    /// Whether a hart did anything but wait in this round.
    pub(crate) busy: bool,
    /// The clock at which the first of the waiting harts continues.
    pub(crate) wake: u64,
}

impl Turns {
    pub(crate) fn new(parked: Vec<Core>) -> Self {
        Turns {
            current: 0,
            parked,
            left: QUANTUM,
            over: false,
            start: 0,
            retired: 0,
            busy: true,
            wake: u64::MAX,
        }
    }
}
