//! Messages between two threads on two CPUs.

mod spin;

use crate::mechanism;
use crate::task::{PingPong, Proof, Tasks, media};
use tollgate_measure::{Meta, Placement};
use tollgate_record::Per;

pub(crate) use spin::{CAS, SPIN};

/// The defaults of the rows.
const ROW: Meta = Meta { per: Per::Message, placement: Placement::Pair, ..mechanism::ROW };

const fn row<M: media::Medium>(meta: Meta) -> PingPong<M> {
    PingPong::new(meta, Tasks::Threads, Proof::Messages)
}

pub(crate) static FUTEX: PingPong<media::Futex> =
    row(Meta { id: "core/futex", what: "a sleeping thread on the other CPU is woken by futex", ..ROW });
pub(crate) static PIPE: PingPong<media::Pipe> = row(Meta {
    id: "core/pipe",
    what: "a sleeping thread on the other CPU is woken by a byte through a pipe",
    ..ROW
});
