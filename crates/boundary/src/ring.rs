//! The ring: one token travels around N tasks, and each task walks over its own array while it holds the token. lmbench's
//! `lat_ctx` measures the same; here the parts are measured beside the total.
//!
//! A *cell* is a number of tasks and a size. [`Cell::new`] lists the rings that its bill needs: the ring itself, the
//! same without arrays, two tasks without arrays, and one task that passes the token to itself with and without an
//! array. All are ordinary probes. [`CellRunner`] opens them side by side and lets the sampler time them in turn;
//! [`Cell::bill`] computes the parts.

mod array;
mod bill;
mod cells;
mod events;
mod knees;
mod limits;
mod need;
mod placing;
mod probe;
mod runner;
mod sizes;
mod spec;

pub use crate::task::Tasks;
pub use bill::Cell;
pub use cells::cells_of;
pub use knees::add_knees;
pub use need::{Room, too_large};
pub use placing::{Placing, beside};
pub use probe::RingProbe;
pub use runner::{CellRunner, MeasuredCell, StartWorker};
pub use sizes::{Sizes, procs};
pub use spec::{Link, Pages, Spec, THREADS_OR_PROCESSES, Walk, threads_beside};
