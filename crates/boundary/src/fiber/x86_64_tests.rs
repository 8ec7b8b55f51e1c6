//! What the switches keep and what they do not.

use super::*;
use crate::fiber::stack::Stack;

type Swap = unsafe extern "C" fn(to: *mut u8) -> *mut u8;

/// rbx, rbp, r12 to r15.
type Registers = [u64; 6];

/// Fills the kept registers from `registers`, switches, and writes what it finds in them back.
#[unsafe(naked)]
unsafe extern "C" fn swap_with(registers: *mut Registers, to: *mut u8, swap: Swap) -> *mut u8 {
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

struct Side {
    back: Swap,
    registers: Registers,
    arrivals: u64,
    mxcsr: Option<u32>,
    aligned: bool,
}

/// Fills every kept register with its own values, and MXCSR when asked to, and goes back; for ever.
unsafe extern "C" fn body(argument: *mut u8, mut from: *mut u8) -> ! {
    let side = argument.cast::<Side>();
    // SAFETY: the test hands a valid Side, which it touches only while this side is not running.
    unsafe {
        let here = 0u128;
        (*side).aligned = (&raw const here).addr().is_multiple_of(16);
        loop {
            (*side).arrivals += 1;
            if let Some(value) = (*side).mxcsr {
                asm!("ldmxcsr [{}]", in(reg) &raw const value);
            }
            from = swap_with(&raw mut (*side).registers, from, (*side).back);
        }
    }
}

const OURS: Registers = [11, 12, 13, 14, 15, 16];
const THEIRS: Registers = [21, 22, 23, 24, 25, 26];

/// Makes `rounds` round trips and gives what each side finds: our registers, the other side, and our
/// MXCSR afterwards.
fn rounds(fp: bool, rounds: u64, mxcsr_there: Option<u32>) -> (Registers, Side, u32) {
    let (there, back): (Swap, Swap) = if fp { (fp_there, fp_back) } else { (integer_there, integer_back) };
    let stack = Stack::new().unwrap();
    let mut side = Side { back, registers: THEIRS, arrivals: 0, mxcsr: mxcsr_there, aligned: false };
    let mut ours = OURS;
    // SAFETY: the stack is fresh, and `side` outlives the last switch. MXCSR is put back before any other
    // code runs.
    let after = unsafe {
        let mut fiber = first_frame(stack.top(), fp, body, (&raw mut side).cast());
        let before = mxcsr();
        for _ in 0..rounds {
            fiber = swap_with(&raw mut ours, fiber, there);
        }
        let after = mxcsr();
        asm!("ldmxcsr [{}]", in(reg) &raw const before);
        after
    };
    (ours, side, after)
}

#[test]
fn both_sides_keep_their_registers() {
    for fp in [false, true] {
        let (ours, side, _) = rounds(fp, 5, None);
        assert_eq!(ours, OURS);
        assert_eq!(side.registers, THEIRS);
        assert_eq!(side.arrivals, 5);
        assert!(side.aligned, "a fiber begins on an aligned stack");
    }
}

/// Rounding towards zero (bits 13 and 14), all exceptions masked.
const TOWARDS_ZERO: u32 = 0x7f80;

#[test]
fn the_integer_switch_lets_mxcsr_leak() {
    let (_, _, after) = rounds(false, 1, Some(TOWARDS_ZERO));
    assert_eq!(after, TOWARDS_ZERO);
}

#[test]
fn the_other_switch_keeps_mxcsr() {
    let before = mxcsr();
    assert_ne!(before, TOWARDS_ZERO);
    let (_, _, after) = rounds(true, 3, Some(TOWARDS_ZERO));
    assert_eq!(after, before);
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
