//! Signals: to oneself, and to another thread that answers.

mod own;

use crate::task::{PingPong, Proof, Tasks, media};
use tollgate_measure::Placement;
use tollgate_record::Per;

pub(crate) use own::Own;

pub(crate) static THREAD: PingPong<media::Signal> = PingPong::new(
    "signal/thread",
    "a signal wakes another thread on the CPU, which handles it and signals back",
    Per::Signal,
    Placement::One,
    Tasks::Threads,
    Proof::HandlersAndSwitches,
);
