//! Calls of a function that does almost nothing: directly, through a pointer, into a shared library.
//!
//! The three rows make the same call, `sum += magnitude(-1)`, so they differ only in how the callee is reached.
//! Every call returns 1, so the sum counts the calls.

mod direct;
mod dynamic;
mod indirect;

pub(crate) use {direct::DIRECT, dynamic::DYNAMIC, indirect::INDIRECT};

use crate::mechanism;
use std::arch::asm;
use tollgate_measure::{Claim, Meta};

/// The defaults of the rows.
const ROW: Meta = Meta { proof: &[Claim::exact("callee-count-per-call")], ..mechanism::ROW };

/// The callee: `imaxabs` of the C library, compiled into this program.
#[inline(never)]
extern "C" fn magnitude(value: i64) -> i64 {
    // SAFETY: no instruction. The compiler must assume that it reads and writes memory, so it cannot remove a call
    // or merge two.
    unsafe { asm!("", options(nostack, preserves_flags)) };
    value.wrapping_abs()
}

#[cfg(test)]
mod tests {
    use super::{DIRECT, DYNAMIC, INDIRECT, magnitude};
    use tollgate_measure::{Probe, Refusal, Site};

    #[test]
    fn the_callee_answers_one_so_that_the_sum_is_a_count() {
        assert_eq!(magnitude(-1), 1);
        assert_eq!(magnitude(-3), 3);
    }

    #[test]
    fn counts_every_call_once_whatever_the_unrolling() {
        let probes: [&dyn Probe; 3] = [&DIRECT, &INDIRECT, &DYNAMIC];
        for probe in probes {
            let mut open = match probe.open(&Site { cpu: 0, peer: None }) {
                // A static program has no shared library to call into.
                Err(Refusal::Skip { .. }) if cfg!(target_feature = "crt-static") => continue,
                open => open.unwrap(),
            };
            let mut counts = [None];
            for passes in [0, 1, 15, 16, 17, 1000] {
                open.cross(passes).unwrap();
                open.prove(&mut counts).unwrap();
                assert_eq!(counts, [Some(passes)], "{}", probe.meta().id);
            }
        }
    }
}
