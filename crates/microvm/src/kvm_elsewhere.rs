//! A machine without KVM for this guest, which is an x86-64 program.

use crate::{Params, RunError, Visit};
use std::path::Path;
use std::time::Duration;

/// The device of KVM.
pub const DEVICE: &str = "/dev/kvm";

pub(crate) fn check(_: &Path) -> Result<(), RunError> {
    Err(RunError::not_here("the bare guest is an x86-64 program", "an x86-64 machine with KVM"))
}

/// Refuses.
///
/// # Errors
/// Always.
pub fn run(device: &Path, _: &Params, _: Duration) -> Result<Visit, RunError> {
    check(device)?;
    Err(RunError::Ended("was not started".into()))
}
