//! Signals of a thread to itself, and to another thread that answers.

mod own;

use crate::mechanism::ROW;
use crate::task::{PingPong, Proof, Tasks, media};
use tollgate_measure::Meta;
use tollgate_record::Per;

pub(crate) use own::{META, OWN, entered, stamp_with};

pub(crate) static THREAD: PingPong<media::Signal> = PingPong::new(
    Meta {
        id: "signal/thread",
        what: "a signal wakes another thread on the CPU, which handles it and signals back",
        per: Per::Signal,
        ..ROW
    },
    Tasks::Threads,
    Proof::HandlersAndSwitches,
);
