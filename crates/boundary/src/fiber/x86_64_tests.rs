//! How the tests of the switch fill and read the kept registers.

use super::*;
use crate::fiber::switch::Swap;

/// rbx, rbp, r12 to r15.
pub(in crate::fiber) type Registers = [u64; 6];

/// How many of them are integer registers: no vector register is kept.
pub(in crate::fiber) const KEPT_INTEGERS: usize = 6;

/// Fills the kept registers from `registers`, switches, and writes what it finds in them back.
#[unsafe(naked)]
pub(in crate::fiber) unsafe extern "C" fn swap_with(
    registers: *mut Registers,
    to: *mut u8,
    swap: Swap,
) -> *mut u8 {
    naked_asm!(
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "push rdi",
        "mov rbx, [rdi]",
        "mov rbp, [rdi + 8]",
        "mov r12, [rdi + 16]",
        "mov r13, [rdi + 24]",
        "mov r14, [rdi + 32]",
        "mov r15, [rdi + 40]",
        "mov rdi, rsi",
        "call rdx",
        "pop rdi",
        "mov [rdi], rbx",
        "mov [rdi + 8], rbp",
        "mov [rdi + 16], r12",
        "mov [rdi + 24], r13",
        "mov [rdi + 32], r14",
        "mov [rdi + 40], r15",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        "ret",
    )
}

/// Rounding towards zero (bits 13 and 14), all exceptions masked.
pub(in crate::fiber) const TOWARDS_ZERO: u64 = 0x7f80;

pub(in crate::fiber) fn set_control(value: u64) {
    let value = value as u32;
    // SAFETY: sets the rounding mode and masks every exception.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack)) };
}

#[test]
fn clearing_the_flags_keeps_the_control_bits() {
    let control = mxcsr() & !FLAGS;
    let with_flags = control | 0x21;
    // SAFETY: sets sticky flags only.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const with_flags) };
    clear_flags();
    assert_eq!(mxcsr(), control);
}
