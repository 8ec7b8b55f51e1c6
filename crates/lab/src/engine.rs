//! What can run an experiment: one file for each engine. The error of a missing engine contains what to install.

mod embedded;
mod external;
mod qemu;
mod spike;

use crate::bill::Engine;

pub use embedded::{CycleBill, Embedded};
pub use qemu::Qemu;
pub use spike::Spike;

/// All engines. The first is the default.
pub(crate) static ENGINES: &[&dyn Engine] = &[&Embedded, &Spike, &Qemu];

/// The engine of that name.
pub(crate) fn find(name: &str) -> Option<&'static dyn Engine> {
    ENGINES.iter().copied().find(|engine| engine.name() == name)
}
