//! How the tests of the switch fill and read the kept registers.

use super::*;
use crate::fiber::switch::Swap;

/// x19 to x29, d8 to d15.
pub(in crate::fiber) type Registers = [u64; 19];

/// How many of them are integer registers.
pub(in crate::fiber) const KEPT_INTEGERS: usize = 11;

/// Fills the kept registers from `registers`, switches, and writes what it finds in them back.
#[unsafe(naked)]
pub(in crate::fiber) unsafe extern "C" fn swap_with(
    registers: *mut Registers,
    to: *mut u8,
    swap: Swap,
) -> *mut u8 {
    naked_asm!(
        "stp x29, x30, [sp, #-192]!",
        "stp x19, x20, [sp, #16]",
        "stp x21, x22, [sp, #32]",
        "stp x23, x24, [sp, #48]",
        "stp x25, x26, [sp, #64]",
        "stp x27, x28, [sp, #80]",
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        "str x0, [sp, #160]",
        "ldp x19, x20, [x0, #0]",
        "ldp x21, x22, [x0, #16]",
        "ldp x23, x24, [x0, #32]",
        "ldp x25, x26, [x0, #48]",
        "ldp x27, x28, [x0, #64]",
        "ldr x29, [x0, #80]",
        "ldp d8, d9, [x0, #88]",
        "ldp d10, d11, [x0, #104]",
        "ldp d12, d13, [x0, #120]",
        "ldp d14, d15, [x0, #136]",
        "mov x0, x1",
        "blr x2",
        "ldr x9, [sp, #160]",
        "stp x19, x20, [x9, #0]",
        "stp x21, x22, [x9, #16]",
        "stp x23, x24, [x9, #32]",
        "stp x25, x26, [x9, #48]",
        "stp x27, x28, [x9, #64]",
        "str x29, [x9, #80]",
        "stp d8, d9, [x9, #88]",
        "stp d10, d11, [x9, #104]",
        "stp d12, d13, [x9, #120]",
        "stp d14, d15, [x9, #136]",
        "ldp x19, x20, [sp, #16]",
        "ldp x21, x22, [sp, #32]",
        "ldp x23, x24, [sp, #48]",
        "ldp x25, x26, [sp, #64]",
        "ldp x27, x28, [sp, #80]",
        "ldp d8, d9, [sp, #96]",
        "ldp d10, d11, [sp, #112]",
        "ldp d12, d13, [sp, #128]",
        "ldp d14, d15, [sp, #144]",
        "ldp x29, x30, [sp], #192",
        "ret",
    )
}

/// FPCR, bits 23 and 22: rounding towards zero.
pub(in crate::fiber) const TOWARDS_ZERO: u64 = 0b11 << 22;

pub(in crate::fiber) fn set_control(value: u64) {
    // SAFETY: sets the rounding mode only.
    unsafe { asm!("msr fpcr, {}", in(reg) value, options(nomem, nostack)) };
}
