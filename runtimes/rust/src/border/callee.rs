//! The callee of the yardsticks: part of the program, and by itself a shared library.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

static ENTERED: AtomicU64 = AtomicU64::new(0);
static COPIED: AtomicU64 = AtomicU64::new(0);
static HANDED: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());

/// Adds without a locked instruction: only one thread counts.
#[inline(always)]
fn count(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed) + more, Relaxed);
}

/// Calls that came with the right arguments.
#[unsafe(no_mangle)]
pub extern "C" fn callee_entered() -> u64 {
    ENTERED.load(Relaxed)
}

/// Texts that were not where the caller has its own.
#[unsafe(no_mangle)]
pub extern "C" fn callee_copied() -> u64 {
    COPIED.load(Relaxed)
}

/// Where the caller has its text.
#[unsafe(no_mangle)]
pub extern "C" fn callee_hand(text: *mut u8) {
    HANDED.store(text, Relaxed);
}

#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn callee_down() {
    count(&ENTERED, 1);
}

#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn callee_down_eight(a: i64, b: i64, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64) -> i64 {
    let sum = a + b + c + d + e + f + g + h;
    count(&ENTERED, u64::from(sum == 36));
    sum
}

/// # Safety
/// The text has so many bytes.
#[unsafe(no_mangle)]
#[inline(never)]
pub unsafe extern "C" fn callee_down_text(text: *const u8, length: usize) -> usize {
    // SAFETY: the caller's promise.
    let is_right = length == 100 && unsafe { *text.add(99) } == b'x';
    count(&ENTERED, u64::from(is_right));
    count(&COPIED, u64::from(!std::ptr::eq(text, HANDED.load(Relaxed))));
    length
}

/// Calls back and returns.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn callee_back(caller: extern "C" fn()) {
    count(&ENTERED, 1);
    caller();
}
