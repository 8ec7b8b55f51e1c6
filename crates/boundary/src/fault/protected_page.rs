//! A protected page with the handler that redirects writes to it.

use super::handler::Installed;
use super::touch::{Plan, touch};
use crate::map::Map;
use std::{mem, ptr};
use tollgate_measure::{Crossing, Refusal};

/// `fault/protection` when it is open.
pub(crate) struct ProtectedPage {
    installed: Installed,
    /// The handler reads and writes it, so the loop uses it through raw pointers only.
    pub(crate) plan: Box<Plan>,
    /// Page 0 is the good one, page 1 the bad one.
    _region: Map,
}

impl ProtectedPage {
    pub(crate) fn new() -> Result<Self, Refusal> {
        if blocked()? {
            // A fault whose signal is blocked ends the process (signal(7)).
            return Err(Refusal::skip(
                "SIGSEGV is blocked in this thread",
                "start the program from a parent that does not block SIGSEGV",
            ));
        }
        let mut region = Map::private(2)?;
        region.forbid(1)?;
        let (good, bad) = (region.page(0), region.page(1));
        // SAFETY: the first page is mapped and writable. This maps it, so that it cannot fault in the loop.
        unsafe { ptr::write_volatile(good, 0) };
        let plan = Box::new(Plan { bad, good, runs: 0, now: None, entered: 0 });
        Ok(Self { installed: Installed::new()?, plan, _region: region })
    }
}

/// Whether this thread blocks SIGSEGV.
fn blocked() -> Result<bool, Refusal> {
    // SAFETY: a sigset_t is plain data for which all zeroes is valid.
    let mut mask: libc::sigset_t = unsafe { mem::zeroed() };
    // SAFETY: a null set changes nothing; `mask` is a valid place to write to.
    match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &mut mask) } {
        // SAFETY: the mask was filled in.
        0 => Ok(unsafe { libc::sigismember(&mask, libc::SIGSEGV) } == 1),
        _ => Err(Refusal::Failed("cannot read the signal mask".into())),
    }
}

impl Crossing for ProtectedPage {
    fn prepare(&mut self, _: u64) -> Result<(), Refusal> {
        if self.installed.in_place() {
            return Ok(());
        }
        Err(Refusal::Failed("something else in this process has replaced the handler of SIGSEGV".into()))
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
