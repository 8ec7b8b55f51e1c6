//! The engines that can run an experiment. The error of a missing engine names the package to install.

mod embedded;
mod external;

use crate::bill::Engine;

pub(crate) use embedded::boot;
pub use embedded::{CycleBill, Embedded};
pub use external::{External, QEMU, SPIKE};

/// All engines. The first is the default.
pub static ENGINES: &[&dyn Engine] = &[&Embedded, &SPIKE, &QEMU];
