//! What the switches keep and what they do not.

use super::*;
use crate::fiber::stack::Stack;

type Swap = unsafe extern "C" fn(to: *mut u8) -> *mut u8;

/// x19 to x29, d8 to d15.
type Registers = [u64; 19];

/// How many of them are integer registers.
const INTEGER: usize = 11;

/// Fills the kept registers from `registers`, switches, and writes what it finds in them back.
#[unsafe(naked)]
unsafe extern "C" fn swap_with(registers: *mut Registers, to: *mut u8, swap: Swap) -> *mut u8 {
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
const TOWARDS_ZERO: u64 = 0b11 << 22;

fn set_control(value: u64) {
    // SAFETY: sets the rounding mode only.
    unsafe { asm!("msr fpcr, {}", in(reg) value, options(nomem, nostack)) };
}

struct Side {
    back: Swap,
    registers: Registers,
    arrivals: u64,
    control: Option<u64>,
    aligned: bool,
}

/// Fills every kept register with its own values, and the control register when asked to, and goes back; for ever.
unsafe extern "C" fn body(argument: *mut u8, mut from: *mut u8) -> ! {
    let side = argument.cast::<Side>();
    // SAFETY: the test hands a valid Side, which it touches only while this side is not running.
    unsafe {
        let here = 0u128;
        (*side).aligned = (&raw const here).addr().is_multiple_of(16);
        loop {
            (*side).arrivals += 1;
            if let Some(value) = (*side).control {
                set_control(value);
            }
            from = swap_with(&raw mut (*side).registers, from, (*side).back);
        }
    }
}

fn numbered(first: u64) -> Registers {
    std::array::from_fn(|index| first + index as u64)
}

/// Makes `rounds` round trips and gives what each side finds: our registers, the other side, and our control
/// register afterwards.
fn rounds(fp: bool, rounds: u64, control_there: Option<u64>) -> (Registers, Side, u64) {
    let (there, back): (Swap, Swap) = if fp { (fp_there, fp_back) } else { (integer_there, integer_back) };
    let stack = Stack::new().unwrap();
    let mut side =
        Side { back, registers: numbered(200), arrivals: 0, control: control_there, aligned: false };
    let mut ours = numbered(100);
    // SAFETY: the stack is fresh, and `side` outlives the last switch. The control register is put back before any
    // other code runs.
    let after = unsafe {
        let mut fiber = first_frame(stack.top(), fp, body, (&raw mut side).cast());
        let before = control();
        for _ in 0..rounds {
            fiber = swap_with(&raw mut ours, fiber, there);
        }
        let after = control();
        set_control(before);
        after
    };
    (ours, side, after)
}

#[test]
fn both_sides_keep_their_registers() {
    for fp in [false, true] {
        let (ours, side, _) = rounds(fp, 5, None);
        let kept = if fp { ours.len() } else { INTEGER };
        assert_eq!(ours[..kept], numbered(100)[..kept]);
        assert_eq!(side.registers[..kept], numbered(200)[..kept]);
        assert_eq!(side.arrivals, 5);
        assert!(side.aligned, "a fiber begins on an aligned stack");
    }
}

#[test]
fn the_integer_switch_lets_the_floating_point_registers_leak() {
    let (ours, _, after) = rounds(false, 1, Some(TOWARDS_ZERO));
    assert_eq!(ours[INTEGER..], numbered(200)[INTEGER..]);
    assert_eq!(after, TOWARDS_ZERO);
}

#[test]
fn the_other_switch_keeps_the_rounding_mode() {
    let before = control();
    assert_ne!(before, TOWARDS_ZERO);
    let (_, _, after) = rounds(true, 3, Some(TOWARDS_ZERO));
    assert_eq!(after, before);
}
