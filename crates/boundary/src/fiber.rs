//! Switches between two stacks in user mode.

mod corosensei;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
mod frame;
mod own;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
mod stack;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
use aarch64 as machine;
#[cfg(target_arch = "riscv64")]
mod riscv64;
#[cfg(target_arch = "riscv64")]
use riscv64 as machine;
#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
use x86_64 as machine;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
mod switch;

/// An architecture without a switch.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
mod machine {
    pub(super) const OWN_FP: &str = "the same switch, which also keeps the floating-point registers";
}

pub(crate) use {
    corosensei::COROSENSEI,
    own::{OWN, OWN_FP},
};

use crate::mechanism;
use tollgate_measure::{Claim, Meta};
use tollgate_record::Per;

/// The defaults of the rows: the fiber counts its arrivals, the loop counts the returns from it, and one pass is two
/// switches.
const ROW: Meta = Meta {
    per: Per::Switch,
    crossings_per_pass: 2,
    proof: &[Claim::exact("arrivals-per-switch")],
    ..mechanism::ROW
};
