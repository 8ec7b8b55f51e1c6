//! Switches between two processes on one CPU.

use crate::mechanism;
use crate::task::{PingPong, Proof, Tasks, media};
use tollgate_measure::Meta;
use tollgate_record::Per;

/// The defaults of the rows.
const ROW: Meta = Meta { per: Per::Switch, least_passes: 16, ..mechanism::ROW };

const fn row<M: media::Medium>(meta: Meta) -> PingPong<M> {
    PingPong::new(meta, Tasks::Processes, Proof::Switches)
}

pub(crate) static FUTEX: PingPong<media::Futex> = row(Meta {
    id: "process/futex",
    what: "two processes on one CPU wake each other by futex in shared memory",
    ..ROW
});
pub(crate) static PIPE: PingPong<media::Pipe> =
    row(Meta { id: "process/pipe", what: "two processes on one CPU pass a byte through two pipes", ..ROW });
pub(crate) static EVENTFD: PingPong<media::Eventfd> = row(Meta {
    id: "process/eventfd",
    what: "two processes on one CPU pass a count through two eventfds",
    ..ROW
});
pub(crate) static SOCKETPAIR: PingPong<media::Socketpair> = row(Meta {
    id: "process/socketpair",
    what: "two processes on one CPU pass a byte through a Unix stream socket pair",
    least_passes: 64,
    ..ROW
});
pub(crate) static SIGNAL: PingPong<media::Signal> = row(Meta {
    id: "process/signal",
    what: "two processes on one CPU signal each other and sleep until the handler ran",
    ..ROW
});
