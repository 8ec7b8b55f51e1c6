//! Which clock a run is timed with.

use crate::arch;
use serde::{Deserialize, Serialize};

/// The clocks that a run can be timed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The processor's counter of constant rate: the time-stamp counter of x86-64, the virtual counter of AArch64, the
    /// time register of RISC-V.
    Counter,
    /// CLOCK_MONOTONIC_RAW, read through the vDSO: works on any Linux.
    Os,
}

impl Source {
    /// The best clock of this machine: the counter when there is one and the processor does not say
    /// that its rate varies, else the system's.
    pub fn best() -> Self {
        if arch::HAS_COUNTER && arch::invariant() != Some(false) { Self::Counter } else { Self::Os }
    }

    /// As the record names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => arch::COUNTER,
            Self::Os => "os",
        }
    }
}
