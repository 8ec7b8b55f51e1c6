//! Calls that interrupt another core on which a thread of this process runs, against the same calls when none does.

use super::taxed::taxed;
use crate::map::Map;
use crate::mechanism::{Mechanism, Opened, ROW};
use crate::syscall::raw;
use crate::task::{OnCall, no_peer_cpu};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{hint, io, mem, ptr};
use tollgate_measure::{Claim, Crossing, Meta, Placement, Refusal, Site};
use tollgate_record::Per;

const META: Meta = Meta {
    per: Per::Operation,
    placement: Placement::Pair,
    proof: &[Claim::exact("right-answers-per-operation")],
    ..ROW
};

pub(super) static MEMBARRIER: Mechanism = Mechanism {
    meta: &Meta {
        id: "interpose/membarrier-core",
        what: "membarrier (private, expedited) while a thread of the process runs on another core",
        ..META
    },
    open: |_, site| open(site, || register().map(|()| Call::Membarrier)),
};

pub(super) static MPROTECT: Mechanism = Mechanism {
    meta: &Meta {
        id: "interpose/mprotect-core",
        what: "a written page loses its write permission and gets it back, a thread running on another core",
        ..META
    },
    open: |_, site| open(site, || Ok(Call::Mprotect(Map::private(1)?))),
};

fn open(site: &Site, call: impl Fn() -> Result<Call, Refusal>) -> Opened {
    let stop = Arc::<AtomicBool>::default();
    let theirs = Arc::clone(&stop);
    let run = move |_| {
        while !theirs.load(Ordering::Acquire) {
            hint::spin_loop();
        }
    };
    let peer = OnCall::open(site.peer.ok_or_else(no_peer_cpu)?, run)?;
    let with = Calls { call: call()?, right: 0, runner: Some(Runner { peer, stop }) };
    let plain = Calls { call: call()?, right: 0, runner: None };
    taxed(Ok(Box::new(with)), Ok(Box::new(plain)), [1, 1])
}

/// linux/membarrier.h
const PRIVATE_EXPEDITED: usize = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: usize = 1 << 4;

/// Asks that the process may use it.
fn register() -> Result<(), Refusal> {
    // SAFETY: integers only.
    match unsafe { raw::call2(libc::SYS_membarrier, REGISTER_PRIVATE_EXPEDITED, 0) } {
        0 => Ok(()),
        error => Err(Refusal::skip(
            format!("membarrier cannot be used here: {}", io::Error::from_raw_os_error(-error as i32)),
            "Linux 4.14 or newer with CONFIG_MEMBARRIER, outside a sandbox that refuses the call",
        )),
    }
}

enum Call {
    Membarrier,
    Mprotect(Map),
}

impl Call {
    #[inline]
    fn make(&self) -> bool {
        match self {
            // SAFETY: integers only.
            Self::Membarrier => unsafe { raw::call3(libc::SYS_membarrier, PRIVATE_EXPEDITED, 0, 0) == 0 },
            Self::Mprotect(map) => {
                let (at, bytes) = (map.page(0), map.page_bytes());
                let address = at.expose_provenance();
                // SAFETY: our own page, to which nobody refers; it is written to while it may be.
                unsafe {
                    ptr::write_volatile(at, 1);
                    let taken = raw::call3(libc::SYS_mprotect, address, bytes, libc::PROT_READ as usize);
                    let both = (libc::PROT_READ | libc::PROT_WRITE) as usize;
                    taken == 0 && raw::call3(libc::SYS_mprotect, address, bytes, both) == 0
                }
            }
        }
    }
}

/// The thread on the other core.
struct Runner {
    peer: OnCall,
    stop: Arc<AtomicBool>,
}

impl Runner {
    /// It sleeps from here on.
    fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.peer.wait_idle();
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Calls {
    call: Call,
    right: u64,
    /// Runs within batches only, so that no other probe is disturbed.
    runner: Option<Runner>,
}

impl Crossing for Calls {
    fn prepare(&mut self, passes: u64) -> Result<(), Refusal> {
        if let Some(runner) = &self.runner {
            runner.stop();
            if passes > 0 {
                runner.stop.store(false, Ordering::Release);
                runner.peer.call(passes);
            }
        }
        Ok(())
    }

    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        self.right += (0..passes).map(|_| u64::from(self.call.make())).sum::<u64>();
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        if let Some(runner) = &self.runner {
            runner.stop();
        }
        counts[0] = Some(mem::take(&mut self.right));
        Ok(())
    }
}
