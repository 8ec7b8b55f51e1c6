//! Switches between two stacks in user mode.

mod corosensei;
mod own;
#[cfg(target_arch = "x86_64")]
mod stack;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub(crate) use corosensei::Corosensei;
pub(crate) use own::{Own, OwnFp};

use tollgate_measure::Claim;

/// What every row of the family proves: the fiber counts its arrivals, the loop counts those back from
/// it, and one pass is two switches.
static PROOF: [Claim; 1] = [Claim::exact("arrivals_per_switch")];
