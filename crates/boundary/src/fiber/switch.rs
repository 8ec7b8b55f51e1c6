//! The common part of the switches of every architecture: two forms, each once for the way there and once for the way
//! back, and the first frame of a fiber.

use super::frame::Frame;
use super::machine::{self, FP, INTEGER, call};

// Each saves the kept registers here, enters the stack `to` and restores them there. It returns, there,
// the stack pointer that was left.
unsafe extern "C" {
    #[link_name = "tollgate_fiber_integer_there"]
    pub(super) fn integer_there(to: *mut u8) -> *mut u8;
    #[link_name = "tollgate_fiber_integer_back"]
    pub(super) fn integer_back(to: *mut u8) -> *mut u8;
    #[link_name = "tollgate_fiber_fp_there"]
    pub(super) fn fp_there(to: *mut u8) -> *mut u8;
    #[link_name = "tollgate_fiber_fp_back"]
    pub(super) fn fp_back(to: *mut u8) -> *mut u8;
}

/// One of the four.
#[cfg(test)]
pub(super) type Swap = unsafe extern "C" fn(to: *mut u8) -> *mut u8;

/// Switches to the fiber that left `to`; returns what it leaves when it switches back.
///
/// # Safety
/// `to` was left by [`back`] or [`first_frame`] of the same `KEEP_FP`, and is used once.
#[inline(always)]
pub(super) unsafe fn there<const KEEP_FP: bool>(to: *mut u8) -> *mut u8 {
    if KEEP_FP { call!(fp_there, to) } else { call!(integer_there, to) }
}

/// Switches back to the side that left `to`; returns what that leaves when it switches here again.
///
/// # Safety
/// `to` was left by [`there`] of the same `KEEP_FP`, and is used once.
#[inline(always)]
pub(super) unsafe fn back<const KEEP_FP: bool>(to: *mut u8) -> *mut u8 {
    if KEEP_FP { call!(fp_back, to) } else { call!(integer_back, to) }
}

/// The code of a fiber: its argument, and the stack pointer of the side that switched to it first. It never
/// returns.
pub(super) type Body = unsafe extern "C" fn(argument: *mut u8, from: *mut u8) -> !;

/// Lays out, below `top`, what the first switch to a fiber restores, so that it arrives in
/// `body(argument)`. Returns the stack pointer to switch to.
///
/// # Safety
/// `top` is 16-aligned and has the words of the [`Frame`] below it, writable.
pub(super) unsafe fn first_frame(top: *mut u8, fp: bool, body: Body, argument: *mut u8) -> *mut u8 {
    let Frame { words, argument: first, body: second, next, control } = if fp { FP } else { INTEGER };
    // SAFETY: inside those words: the caller's promise.
    unsafe {
        let frame = top.cast::<usize>().sub(words);
        frame.write_bytes(0, words);
        frame.add(first).write(argument.expose_provenance());
        frame.add(second).write(body as *const () as usize);
        frame.add(next).write(machine::enter as *const () as usize);
        if let Some(control) = control {
            frame.add(control).write(machine::control_word());
        }
        frame.cast()
    }
}

#[cfg(test)]
#[path = "switch_tests.rs"]
mod tests;
