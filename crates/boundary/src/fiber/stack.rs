//! A stack for a fiber, with a guard page below it that ends the process on an overflow.

use crate::map::Map;
use tollgate_measure::Refusal;

/// Usable pages; the fibers here use a few hundred bytes.
const PAGES: usize = 16;

/// Memory that is used downwards from [`Stack::top`].
pub(super) struct Stack(Map);

impl Stack {
    /// Maps a stack and its guard page.
    pub(super) fn new() -> Result<Self, Refusal> {
        let mut region = Map::private(PAGES + 1)?;
        region.forbid(0)?;
        Ok(Self(region))
    }

    /// One past the highest byte; page-aligned.
    pub(super) fn top(&self) -> *mut u8 {
        self.0.page(PAGES + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::{PAGES, Stack};
    use crate::testing::{alone, ends_in_child};
    use std::ptr;

    #[test]
    fn the_whole_stack_can_be_used_and_one_byte_more_ends_the_process() {
        let _turn = alone();
        let stack = Stack::new().unwrap();
        let bytes = PAGES * stack.0.page_bytes();
        // SAFETY: inside the mapping; the child is meant to die of the second write.
        let touch =
            |below: usize| ends_in_child(|| unsafe { ptr::write_volatile(stack.top().sub(below), 1) });
        assert_eq!(touch(bytes), 0);
        let status = touch(bytes + 1);
        assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSEGV, "{status:#x}");
    }
}
