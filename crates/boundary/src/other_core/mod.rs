//! Messages between two threads on two CPUs.

mod spin;

use crate::task::{PingPong, Proof, Tasks, media};
use tollgate_measure::Placement;
use tollgate_record::Per;

pub(crate) use spin::Spin;

const fn row<M: media::Medium>(id: &'static str, what: &'static str) -> PingPong<M> {
    PingPong::new(id, what, Per::Message, Placement::Pair, Tasks::Threads, Proof::Messages)
}

pub(crate) static FUTEX: PingPong<media::Futex> =
    row("core/futex", "a sleeping thread on the other CPU is woken by futex");
pub(crate) static PIPE: PingPong<media::Pipe> =
    row("core/pipe", "a sleeping thread on the other CPU is woken by a byte through a pipe");
