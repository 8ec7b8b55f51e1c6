//! A touch of a page that may not be touched: the kernel sends SIGSEGV, the handler leads the write to a
//! good page and returns, and the write succeeds.

use tollgate_measure::{Claim, Crossing, Meta, Placement, Probe, Refusal, Site};
use tollgate_record::Per;

/// The probe `fault/protection`.
pub(crate) struct Protection;

pub(crate) const META: Meta = Meta {
    id: "fault/protection",
    what: "write to a protected page: SIGSEGV is handled in user mode and returned from",
    per: Per::Touch,
    crossings_per_pass: 1,
    placement: Placement::One,
    proof: &[Claim::exact("handler_runs_per_touch")],
};

impl Probe for Protection {
    fn meta(&self) -> &Meta {
        const { &META }
    }

    #[cfg(target_arch = "x86_64")]
    fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        Ok(Box::new(open::Open::new()?))
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        Err(Refusal::skip(
            "the touching instruction and its handler are written for x86-64 only",
            "an x86-64 machine, or a file beside crates/boundary/src/fault/x86_64.rs for this architecture",
        ))
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) mod open {
    use super::super::handler::{Installed, Plan};
    use super::super::x86_64::touch;
    use super::{Crossing, Refusal};
    use crate::region::Region;
    use std::{mem, ptr};

    pub(crate) struct Open {
        installed: Installed,
        /// Read and written by the handler, so only ever used through raw pointers in the loop.
        pub(crate) plan: Box<Plan>,
        /// Page 0 is the good one, page 1 the bad one.
        _region: Region,
    }

    impl Open {
        pub(crate) fn new() -> Result<Self, Refusal> {
            if blocked()? {
                // A fault whose signal is blocked ends the process (signal(7)).
                return Err(Refusal::skip(
                    "SIGSEGV is blocked in this thread",
                    "start the program from a parent that does not block SIGSEGV",
                ));
            }
            let mut region = Region::new(2)?;
            region.forbid(1)?;
            let (good, bad) = (region.page(0), region.page(1));
            // SAFETY: the first page is mapped and writable. Mapped now, it cannot fault in the loop.
            unsafe { ptr::write_volatile(good, 0) };
            let plan = Box::new(Plan { bad, good, runs: 0, now: None, entered: 0 });
            Ok(Self { installed: Installed::new()?, plan, _region: region })
        }
    }

    /// Whether this thread blocks SIGSEGV.
    pub(crate) fn blocked() -> Result<bool, Refusal> {
        // SAFETY: a sigset_t is plain data for which all zeroes is valid.
        let mut mask: libc::sigset_t = unsafe { mem::zeroed() };
        // SAFETY: a null set changes nothing; `mask` is a valid place to write to.
        match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &mut mask) } {
            // SAFETY: the mask was filled in.
            0 => Ok(unsafe { libc::sigismember(&mask, libc::SIGSEGV) } == 1),
            _ => Err(Refusal::Failed("ask for the signal mask".into())),
        }
    }

    impl Crossing for Open {
        fn prepare(&mut self, _: u64) -> Result<(), Refusal> {
            if self.installed.in_place() {
                return Ok(());
            }
            Err(Refusal::Failed("something else in this process has taken SIGSEGV over".into()))
        }

        fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
            let plan = &raw mut *self.plan;
            // SAFETY: the plan is ours and valid.
            let bad = unsafe { (*plan).bad };
            for _ in 0..passes {
                // SAFETY: the handler is in place as long as `self.installed` lives, the pages as long
                // as the region, and the plan is reached only through this pointer.
                unsafe { touch(bad, plan) };
            }
            Ok(())
        }

        fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
            counts[0] = Some(mem::take(&mut self.plan.runs));
            Ok(())
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::Protection;
    use crate::testing::{alone, ends_in_child};
    use std::{mem, ptr};
    use tollgate_measure::{Probe, Site};

    const SITE: Site = Site { cpu: 0, peer: None };

    fn disposition() -> (usize, i32) {
        // SAFETY: sigaction is plain data, and asking changes nothing.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            libc::sigaction(libc::SIGSEGV, ptr::null(), &mut action);
            (action.sa_sigaction, action.sa_flags)
        }
    }

    #[test]
    fn the_handler_runs_once_for_each_touch_also_with_two_probes_open() {
        let _turn = alone();
        let mut one = Protection.open(&SITE).unwrap();
        let mut other = Protection.open(&SITE).unwrap();
        let mut counts = [None];
        one.cross(1000).unwrap();
        other.cross(3).unwrap();
        one.prove(&mut counts).unwrap();
        assert_eq!(counts, [Some(1000)]);
        drop(one);
        other.cross(4).unwrap();
        other.prove(&mut counts).unwrap();
        assert_eq!(counts, [Some(7)]);
        other.prove(&mut counts).unwrap();
        assert_eq!(counts, [Some(0)]);
    }

    #[test]
    fn closing_puts_the_previous_handler_back() {
        let _turn = alone();
        let before = disposition();
        let open = Protection.open(&SITE).unwrap();
        assert_ne!(disposition(), before);
        drop(open);
        assert_eq!(disposition(), before);
    }

    #[test]
    fn a_fault_that_is_not_ours_still_ends_the_process() {
        let _turn = alone();
        let open = Protection.open(&SITE).unwrap();
        // SAFETY: the child is meant to die of this write to an address that is never mapped.
        let status =
            ends_in_child(|| unsafe { ptr::write_volatile(ptr::without_provenance_mut::<u8>(8), 1) });
        assert!(libc::WIFSIGNALED(status), "{status:#x}");
        assert_eq!(libc::WTERMSIG(status), libc::SIGSEGV);
        drop(open);
    }

    #[test]
    fn a_segv_that_somebody_sends_still_ends_the_process() {
        let _turn = alone();
        let open = Protection.open(&SITE).unwrap();
        // The runtime's own handler, to which the first is passed on, answers it by going away.
        // SAFETY: raise is async-signal-safe.
        let status = ends_in_child(|| unsafe {
            libc::raise(libc::SIGSEGV);
            libc::raise(libc::SIGSEGV);
        });
        assert!(libc::WIFSIGNALED(status), "{status:#x}");
        assert_eq!(libc::WTERMSIG(status), libc::SIGSEGV);
        drop(open);
    }

    #[test]
    fn a_handler_that_was_replaced_is_noticed_before_the_batch() {
        let _turn = alone();
        let mut open = Protection.open(&SITE).unwrap();
        assert!(open.prepare(1).is_ok());
        // SAFETY: the default disposition, and then what was there, which sigaction itself filled in.
        unsafe {
            let mut ours: libc::sigaction = mem::zeroed();
            let default: libc::sigaction = mem::zeroed();
            libc::sigaction(libc::SIGSEGV, &default, &mut ours);
            assert!(open.prepare(1).is_err());
            libc::sigaction(libc::SIGSEGV, &ours, ptr::null_mut());
        }
        assert!(open.prepare(1).is_ok());
    }
}
