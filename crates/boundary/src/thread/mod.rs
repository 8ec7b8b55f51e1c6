//! Switches between two threads on one CPU.

mod rotation;

use crate::task::{PingPong, Proof, Tasks, media};
use tollgate_measure::Placement;
use tollgate_record::Per;

pub(crate) use rotation::Rotation;

const fn row<M: media::Medium>(id: &'static str, what: &'static str) -> PingPong<M> {
    PingPong::new(id, what, Per::Switch, Placement::One, Tasks::Threads, Proof::Switches)
}

pub(crate) static FUTEX: PingPong<media::Futex> =
    row("thread/futex", "two threads on one CPU wake each other by futex");
pub(crate) static PIPE: PingPong<media::Pipe> =
    row("thread/pipe", "two threads on one CPU pass a byte through two pipes");
pub(crate) static EVENTFD: PingPong<media::Eventfd> =
    row("thread/eventfd", "two threads on one CPU pass a count through two eventfds");
pub(crate) static SOCKETPAIR: PingPong<media::Socketpair> =
    row("thread/socketpair", "two threads on one CPU pass a byte through a Unix stream socket pair");
pub(crate) static CONDVAR: PingPong<media::Condvar> =
    row("thread/condvar", "two threads on one CPU notify each other by condition variable, mutex held");
