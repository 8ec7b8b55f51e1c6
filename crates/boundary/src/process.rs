//! Switches between two processes on one CPU.

use crate::task::{PingPong, Proof, Tasks, media};
use tollgate_measure::Placement;
use tollgate_record::Per;

const fn row<M: media::Medium>(id: &'static str, what: &'static str) -> PingPong<M> {
    PingPong::new(id, what, Per::Switch, Placement::One, Tasks::Processes, Proof::Switches)
}

pub(crate) static FUTEX: PingPong<media::Futex> =
    row("process/futex", "two processes on one CPU wake each other by futex in shared memory");
pub(crate) static PIPE: PingPong<media::Pipe> =
    row("process/pipe", "two processes on one CPU pass a byte through two pipes");
pub(crate) static EVENTFD: PingPong<media::Eventfd> =
    row("process/eventfd", "two processes on one CPU pass a count through two eventfds");
pub(crate) static SOCKETPAIR: PingPong<media::Socketpair> =
    row("process/socketpair", "two processes on one CPU pass a byte through a Unix stream socket pair");
pub(crate) static SIGNAL: PingPong<media::Signal> =
    row("process/signal", "two processes on one CPU signal each other and sleep until the handler ran");
