//! A stack whose place in a page is chosen.

use corosensei::stack::{DefaultStack, STACK_ALIGNMENT, Stack, StackPointer};
use std::io;

/// As much as the program needs, with a margin.
const BYTES: usize = 4 << 20;
/// The place is chosen within a page: caches and store buffers compare the lower bits of addresses.
const PAGE: usize = 4096;

/// Runs `work` on a stack that begins `below` bytes (modulo 4096) below the end of a page, whatever arguments and environment
/// this process was started with.
///
/// # Errors
/// No memory for the stack.
pub fn on_stack<R>(below: usize, work: impl FnOnce() -> R) -> io::Result<R> {
    let below = below % PAGE / STACK_ALIGNMENT * STACK_ALIGNMENT;
    Ok(corosensei::on_stack(Lowered { stack: DefaultStack::new(BYTES)?, below }, work))
}

struct Lowered {
    stack: DefaultStack,
    /// Less than a page, and a multiple of the alignment.
    below: usize,
}

// SAFETY: the pages and the guard page of `stack`, of which less than a page is left out at the upper end, so that more than
// the smallest size is left; the place is aligned as `stack`'s.
unsafe impl Stack for Lowered {
    fn base(&self) -> StackPointer {
        let base = self.stack.base();
        StackPointer::new(base.get() - self.below).unwrap_or(base)
    }

    fn limit(&self) -> StackPointer {
        self.stack.limit()
    }
}

#[cfg(test)]
mod tests {
    use super::on_stack;
    use std::hint::black_box;

    fn place_of_a_local() -> usize {
        let local = black_box(0_u8);
        (&raw const local).addr() % 4096
    }

    #[test]
    fn the_place_in_a_page_is_as_chosen_and_one_page_is_like_another() {
        let places = [0, 16, 1040, 4096].map(|below| on_stack(below, place_of_a_local).unwrap());
        assert_eq!([1, 2, 3].map(|at| (places[0] + 4096 - places[at]) % 4096), [16, 1040, 0]);
    }
}
