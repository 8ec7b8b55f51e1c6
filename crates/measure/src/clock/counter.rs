//! The processor's counter.

use super::{Clock, Now};
use crate::arch;

/// The processor's counter of constant rate, fenced.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter;

impl Clock for Counter {
    #[inline(always)]
    fn now(&self) -> u64 {
        arch::counter()
    }

    fn stamper(&self) -> Option<Now> {
        Some(arch::counter)
    }
}
