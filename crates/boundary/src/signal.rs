//! Signals of a thread to itself, and to another thread that answers.

mod own;

use crate::task::{PingPong, Proof, Tasks, media};
use tollgate_measure::{Meta, Placement};
use tollgate_record::Per;

pub(crate) use own::{Own, entered, stamp_with};

pub(crate) static THREAD: PingPong<media::Signal> = PingPong::new(
    Meta {
        id: "signal/thread",
        what: "a signal wakes another thread on the CPU, which handles it and signals back",
        per: Per::Signal,
        crossings_per_pass: 2,
        placement: Placement::One,
        proof: &[],
    },
    Tasks::Threads,
    Proof::HandlersAndSwitches,
);
