//! The switch on AArch64: what the procedure call standard (AAPCS64, 6.1) asks a callee to keep, saved on the stack
//! that is left and taken from the stack that is entered. x18 is the platform's, and Linux does not use it.
//!
//! As on x86-64 it ends in a plain jump, not in a `ret`, which would be predicted to return to the caller on the
//! stack just left; the stack pointer is passed in a register; and each form exists twice, for the way there and the
//! way back.

use super::frame::Frame;
use std::arch::{asm, global_asm, naked_asm};

/// The description of `fiber/own-fp`.
pub(super) const OWN_FP: &str = "the same switch, which also keeps d8 to d15 and FPCR";

/// The registers that the two forms keep, in the words of the record.
pub(super) const KEPT: [&str; 2] = ["integer", "integer, d8 to d15, fpcr"];

/// The record's name for [`control`].
pub(super) const CONTROL: &str = "fpcr";

/// Defines a switch in a cache line of its own, so that its alignment to fetch blocks does not change with every build.
macro_rules! switch {
    ($name:ident, $frame:literal, $($save:literal)*, $($restore:literal)*) => {
        global_asm!(
            ".pushsection .text.tollgate_fiber, \"ax\", @progbits",
            concat!(".globl tollgate_fiber_", stringify!($name)),
            concat!(".hidden tollgate_fiber_", stringify!($name)),
            concat!(".type tollgate_fiber_", stringify!($name), ", @function"),
            ".p2align 6",
            concat!("tollgate_fiber_", stringify!($name), ":"),
            concat!("sub sp, sp, #", $frame),
            "stp x19, x20, [sp]",
            "stp x21, x22, [sp, #16]",
            "stp x23, x24, [sp, #32]",
            "stp x25, x26, [sp, #48]",
            "stp x27, x28, [sp, #64]",
            "stp x29, x30, [sp, #80]",
            $($save,)*
            "mov x1, sp",
            "mov sp, x0",
            "mov x0, x1",
            $($restore,)*
            "ldp x19, x20, [sp]",
            "ldp x21, x22, [sp, #16]",
            "ldp x23, x24, [sp, #32]",
            "ldp x25, x26, [sp, #48]",
            "ldp x27, x28, [sp, #64]",
            "ldp x29, x16, [sp, #80]",
            concat!("add sp, sp, #", $frame),
            // Through x16, so that a landing pad for calls accepts it where branch targets are checked.
            "br x16",
            concat!(".size tollgate_fiber_", stringify!($name), ", . - tollgate_fiber_", stringify!($name)),
            ".popsection",
        );
    };
}

switch!(integer_there, "96", , );
switch!(integer_back, "96", , );
switch!(fp_there, "176",
    "stp d8, d9, [sp, #96]" "stp d10, d11, [sp, #112]" "stp d12, d13, [sp, #128]" "stp d14, d15, [sp, #144]"
    "mrs x9, fpcr" "str x9, [sp, #160]",
    "ldr x9, [sp, #160]" "msr fpcr, x9"
    "ldp d8, d9, [sp, #96]" "ldp d10, d11, [sp, #112]" "ldp d12, d13, [sp, #128]" "ldp d14, d15, [sp, #144]");
switch!(fp_back, "176",
    "stp d8, d9, [sp, #96]" "stp d10, d11, [sp, #112]" "stp d12, d13, [sp, #128]" "stp d14, d15, [sp, #144]"
    "mrs x9, fpcr" "str x9, [sp, #160]",
    "ldr x9, [sp, #160]" "msr fpcr, x9"
    "ldp d8, d9, [sp, #96]" "ldp d10, d11, [sp, #112]" "ldp d12, d13, [sp, #128]" "ldp d14, d15, [sp, #144]");

/// The frame of the integer form: x19 to x30, of which x30 is the address where it continues.
pub(super) const INTEGER: Frame = Frame { words: 12, argument: 0, body: 1, next: 11, control: None };
/// The frame of the other: d8 to d15, FPCR and a word that keeps the stack aligned besides.
pub(super) const FP: Frame = Frame { words: 22, control: Some(20), ..INTEGER };

/// Calls a switch by a plain call instruction, whose target needs no prediction from a register.
macro_rules! call {
    ($swap:ident, $to:expr) => {{
        let from: *mut u8;
        // SAFETY: the caller's promise. The switch keeps what the C calling convention asks a callee to
        // keep, but for d8 to d15 in its integer form, which `clobber_abi` marks as changed with all of v0 to v31.
        unsafe {
            std::arch::asm!("bl {swap}", swap = sym $swap,
                inlateout("x0") $to => from, clobber_abi("C"));
        }
        from
    }};
}
pub(super) use call;

/// Where a fiber begins: the stack is empty and aligned as before a call.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn enter() {
    naked_asm!("mov x1, x0", "mov x0, x19", "blr x20", "brk #1")
}

/// FPCR: rounding, flushing to zero, traps. The sticky flags have a register of their own, FPSR.
pub(super) fn control() -> u64 {
    let value: u64;
    // SAFETY: reads a register.
    unsafe { asm!("mrs {}, fpcr", out(reg) value, options(nomem, nostack, preserves_flags)) };
    value
}

/// The control word that the form for floating point restores.
pub(super) fn control_word() -> usize {
    control() as usize
}

/// Nothing to clear: the switch does not touch the sticky flags.
pub(super) fn clear_flags() {}

#[cfg(test)]
#[path = "aarch64_tests.rs"]
pub(super) mod tests;
