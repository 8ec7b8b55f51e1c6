//! The ring: N tasks around which one token travels, each of which walks over an array of its own while
//! it holds the token. What lmbench's `lat_ctx` measures, with its parts measured beside it.
//!
//! A *cell* is a number of tasks and a size. [`Cell::new`] names the rings that its bill takes: the ring
//! itself, the same without arrays, two tasks without arrays, and one task that passes the token to itself
//! with and without an array. All of them are ordinary probes, opened side by side and timed in turn by
//! the sampler; [`Cell::bill`] puts the parts together.

mod array;
mod bill;
mod events;
mod knees;
mod limits;
mod need;
mod probe;
mod runner;
mod sizes;
mod spec;

pub use bill::Cell;
pub use knees::add_knees;
pub use need::{Room, too_large};
pub use probe::RingProbe;
pub use runner::{CellRunner, MeasuredCell, StartWorker};
pub use sizes::sizes_around;
pub use spec::{Link, Pages, Spec, Walk};
