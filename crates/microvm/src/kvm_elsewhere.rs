//! A machine without KVM for this guest, which is an x86-64 program.

use crate::{Params, RunError, Visit};
use std::path::Path;
use std::time::Duration;

/// The device of KVM.
pub const DEVICE: &str = "/dev/kvm";

/// Refuses.
///
/// # Errors
/// Always.
pub fn run(_: &Path, _: &Params, _: Duration) -> Result<Visit, RunError> {
    Err(RunError::not_here("the bare guest is an x86-64 program", "an x86-64 machine with KVM"))
}
