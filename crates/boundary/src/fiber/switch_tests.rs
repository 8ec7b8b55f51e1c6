//! Which registers the switches keep.

use super::{Swap, first_frame, fp_back, fp_there, integer_back, integer_there};
use crate::fiber::machine::control;
use crate::fiber::machine::tests::{KEPT_INTEGERS, Registers, TOWARDS_ZERO, set_control, swap_with};
use crate::fiber::stack::Stack;

struct Side {
    back: Swap,
    registers: Registers,
    arrivals: u64,
    control: Option<u64>,
    aligned: bool,
}

/// Fills every kept register with its own values, and the control register if asked to, and switches back, for ever.
unsafe extern "C" fn body(argument: *mut u8, mut from: *mut u8) -> ! {
    let side = argument.cast::<Side>();
    // SAFETY: the test passes a valid Side, which it touches only while this side is not running.
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

/// Makes `rounds` round trips and returns what each side finds: our registers, the other side, and our control
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
        let kept = if fp { ours.len() } else { KEPT_INTEGERS };
        assert_eq!(ours[..kept], numbered(100)[..kept]);
        assert_eq!(side.registers[..kept], numbered(200)[..kept]);
        assert_eq!(side.arrivals, 5);
        assert!(side.aligned, "a fiber begins on an aligned stack");
    }
}

#[test]
fn the_integer_switch_lets_the_floating_point_registers_leak() {
    let (ours, _, after) = rounds(false, 1, Some(TOWARDS_ZERO));
    assert_eq!(ours[KEPT_INTEGERS..], numbered(200)[KEPT_INTEGERS..]);
    assert_eq!(after, TOWARDS_ZERO);
}

#[test]
fn the_other_switch_keeps_the_rounding_mode() {
    let before = control();
    assert_ne!(before, TOWARDS_ZERO);
    let (_, _, after) = rounds(true, 3, Some(TOWARDS_ZERO));
    assert_eq!(after, before);
}
