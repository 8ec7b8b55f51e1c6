//! A switch in assembly, in two forms: one keeps the callee-saved integer registers, the other also the callee-saved
//! floating-point state.

use super::{ROW, machine};
use crate::mechanism::{Mechanism, Opened};
use tollgate_measure::{Crossing, Meta, Refusal};

pub(crate) static OWN: Mechanism = Mechanism {
    meta: &Meta {
        id: "fiber/own",
        what: "stack switch in our own assembly that keeps the callee-saved integer registers",
        ..ROW
    },
    open: |_, _| open::<false>(),
};

pub(crate) static OWN_FP: Mechanism = Mechanism {
    meta: &Meta { id: "fiber/own-fp", what: machine::OWN_FP, ..ROW },
    open: |_, _| open::<true>(),
};

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
fn open<const FP: bool>() -> Opened {
    Ok(Box::new(open::Fiber::<FP>::new()?))
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
fn open<const FP: bool>() -> Opened {
    Err(Refusal::skip(
        "our own stack switch is not written for this architecture",
        "a file for it beside crates/boundary/src/fiber/x86_64.rs",
    ))
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
mod open {
    use super::super::machine::{CONTROL, KEPT, clear_flags, control};
    use super::super::stack::Stack;
    use super::super::switch::{back, first_frame, there};
    use super::{Crossing, Refusal};
    use std::mem;
    use tollgate_measure::Facts;
    use tollgate_record::family::{ProbeAsked, ProbeFound};

    /// A fiber that counts and switches back, for ever. It owns nothing, so its stack can be freed at any time.
    pub(super) struct Fiber<const FP: bool> {
        /// Its stack pointer while it does not run.
        pointer: *mut u8,
        /// How often it was switched to; written by the fiber while it runs.
        arrivals: *mut u64,
        back: u64,
        control: u64,
        _stack: Stack,
    }

    /// The fiber's code. It holds no value with a destructor and cannot panic.
    unsafe extern "C" fn body<const FP: bool>(argument: *mut u8, mut from: *mut u8) -> ! {
        let arrivals = argument.cast::<u64>();
        loop {
            // SAFETY: the other side keeps the count alive and waits until this side switches back, to the stack pointer
            // that the switch passed.
            unsafe {
                *arrivals = (*arrivals).wrapping_add(1);
                from = back::<FP>(from);
            }
        }
    }

    impl<const FP: bool> Fiber<FP> {
        pub(super) fn new() -> Result<Self, Refusal> {
            let stack = Stack::new()?;
            let arrivals = Box::into_raw(Box::new(0u64));
            clear_flags();
            // SAFETY: the top of a fresh stack is aligned and has pages below it.
            let pointer = unsafe { first_frame(stack.top(), FP, body::<FP>, arrivals.cast()) };
            Ok(Self { pointer, arrivals, back: 0, control: control(), _stack: stack })
        }
    }

    impl<const FP: bool> Crossing for Fiber<FP> {
        fn prepare(&mut self, _: u64) -> Result<(), Refusal> {
            // The fiber computes nothing in floating point, so its flags stay clear. One rounded result
            // on this side would make the two differ, and loading control bits that differ is a slow path on x86-64.
            clear_flags();
            if FP && control() != self.control {
                return Err(Refusal::Failed(
                    "something in this process has changed the rounding mode".into(),
                ));
            }
            Ok(())
        }

        fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
            let (mut fiber, mut back) = (self.pointer, 0);
            for _ in 0..passes {
                // SAFETY: `fiber` is what the last switch back, or `first_frame`, left.
                fiber = unsafe { there::<FP>(fiber) };
                back += 1;
            }
            self.pointer = fiber;
            self.back += back;
            Ok(())
        }

        fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
            // SAFETY: the fiber is not running.
            let there = unsafe { mem::take(&mut *self.arrivals) };
            counts[0] = Some(there + mem::take(&mut self.back));
            Ok(())
        }

        fn facts(&self) -> Facts {
            let asked = ProbeAsked {
                kept: Some(KEPT[usize::from(FP)].into()),
                float_control: FP.then(|| format!("{CONTROL} {:#x} on both sides", self.control)),
                ..ProbeAsked::default()
            };
            Facts::of_probe(asked, ProbeFound::default())
        }
    }

    impl<const FP: bool> Drop for Fiber<FP> {
        fn drop(&mut self) {
            // SAFETY: made by Box::into_raw; the fiber never runs again.
            drop(unsafe { Box::from_raw(self.arrivals) });
        }
    }
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
mod tests {
    use super::{OWN, OWN_FP};
    use tollgate_measure::{Probe, Site};

    #[test]
    fn each_pass_arrives_there_and_back() {
        let probes: [&dyn Probe; 2] = [&OWN, &OWN_FP];
        for probe in probes {
            let mut open = probe.open(&Site { cpu: 0, peer: None }).unwrap();
            let mut counts = [None];
            for passes in [0, 1, 1000] {
                open.prepare(passes).unwrap();
                open.cross(passes).unwrap();
                open.prove(&mut counts).unwrap();
                assert_eq!(counts, [Some(2 * passes)], "{}", probe.meta().id);
            }
        }
    }
}
