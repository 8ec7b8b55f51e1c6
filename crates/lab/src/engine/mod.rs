//! What can run an experiment. One file per engine; an engine that is not on this machine says what to install.

mod embedded;
mod external;
mod qemu;
mod spike;

use crate::LabError;
use crate::bill::{Experiment, TrapBill};

pub use embedded::{CycleBill, Embedded};
pub use qemu::Qemu;
pub use spike::Spike;

/// Something that can run the guests and count.
pub trait Engine: Sync {
    /// What `--engine` calls it.
    fn name(&self) -> &'static str;

    /// What a reader of its figures must know.
    fn note(&self) -> &'static str;

    /// Runs one experiment. [`LabError::EngineMissing`] and [`LabError::NotHere`] mean that it is to be skipped.
    fn measure(&self, experiment: &Experiment) -> Result<TrapBill, LabError>;
}

/// All engines. The first is the default.
pub static ENGINES: &[&dyn Engine] = &[&Embedded, &Spike, &Qemu];

/// The engine of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Engine> {
    ENGINES.iter().copied().find(|engine| engine.name() == name)
}
