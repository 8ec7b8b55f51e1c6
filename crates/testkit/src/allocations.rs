//! Counts what a thread allocates, so that a test can tell work that grows with its input from work that grows with the square.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATED: Cell<Allocated> = const { Cell::new(Allocated { count: 0, bytes: 0 }) };
}

/// Allocations of one thread.
#[derive(Clone, Copy, Debug)]
pub struct Allocated {
    /// Their number.
    pub count: u64,
    /// Their sizes together.
    pub bytes: u64,
}

impl Allocated {
    /// Allocations of this thread while `work` runs. Zero unless [`Counting`] is the global allocator.
    pub fn during<T>(work: impl FnOnce() -> T) -> (T, Self) {
        let before = ALLOCATED.get();
        let result = work();
        let after = ALLOCATED.get();
        (result, Self { count: after.count - before.count, bytes: after.bytes - before.bytes })
    }
}

/// The system's allocator, counting: `#[global_allocator] static COUNTING: Counting = Counting;`
pub struct Counting;

// SAFETY: every call is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATED.try_with(|it| {
            let Allocated { count, bytes } = it.get();
            it.set(Allocated { count: count + 1, bytes: bytes + layout.size() as u64 });
        });
        // SAFETY: the caller's promises are the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are the system's.
        unsafe { System.dealloc(place, layout) }
    }
}
