//! Switches between two threads on one CPU.

mod rotation;

use crate::mechanism;
use crate::task::{PingPong, Proof, Tasks, media};
use tollgate_measure::Meta;
use tollgate_record::Per;

pub(crate) use rotation::ROTATION;

/// The defaults of the rows.
const ROW: Meta = Meta { per: Per::Switch, least_passes: 16, ..mechanism::ROW };

const fn row<M: media::Medium>(meta: Meta) -> PingPong<M> {
    PingPong::new(meta, Tasks::Threads, Proof::Switches)
}

pub(crate) static FUTEX: PingPong<media::Futex> =
    row(Meta { id: "thread/futex", what: "two threads on one CPU wake each other by futex", ..ROW });
pub(crate) static PIPE: PingPong<media::Pipe> =
    row(Meta { id: "thread/pipe", what: "two threads on one CPU pass a byte through two pipes", ..ROW });
pub(crate) static EVENTFD: PingPong<media::Eventfd> = row(Meta {
    id: "thread/eventfd",
    what: "two threads on one CPU pass a count through two eventfds",
    ..ROW
});
pub(crate) static SOCKETPAIR: PingPong<media::Socketpair> = row(Meta {
    id: "thread/socketpair",
    what: "two threads on one CPU pass a byte through a Unix stream socket pair",
    least_passes: 64,
    ..ROW
});
pub(crate) static CONDVAR: PingPong<media::Condvar> = row(Meta {
    id: "thread/condvar",
    what: "two threads on one CPU notify each other by condition variable, mutex held",
    least_passes: 32,
    ..ROW
});
