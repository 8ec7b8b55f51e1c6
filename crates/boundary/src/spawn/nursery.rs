//! A small process that makes children on order.
//!
//! The cost of a fork depends on the address space and the descriptors of the parent, and the measuring process has
//! what the other probes need. So a process that has unmapped all of that (see `lean`) and closed all descriptors makes
//! the children: it is the same beside any probe.

use super::lean;
use crate::task::{Mapping, Zeroed, death, give_way, media::futex, process, refusal, task_refusal};
use std::{
    io, mem,
    os::fd::RawFd,
    sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering},
};
use tollgate_measure::{Crossing, Facts, Refusal};
use tollgate_record::family::{ProbeAsked, ProbeFound};

/// Shared by both sides; only one of them works at any time.
#[repr(align(128))]
struct Desk {
    /// The number of the current order; the futex on which the nursery sleeps.
    order: AtomicU32,
    /// The number of the last order that is done; the futex on which the measuring thread sleeps.
    done: AtomicU32,
    /// How many children the order asks for.
    children: AtomicU64,
    /// How many of them were collected with the right status.
    collected: AtomicU64,
    /// The error that ended the order early, 0 for none.
    error: AtomicI32,
    /// Whether the nursery unmapped everything that it does not need.
    lean: AtomicBool,
}

// SAFETY: atomic values.
unsafe impl Zeroed for Desk {}

/// A probe whose children are made in a nursery: the memory through which that receives orders. Dropping it kills and
/// reaps the process.
pub(super) struct Nursery {
    found: ProbeFound,
    /// Children collected that ended as they should, not yet proved.
    collected: u64,
    /// The name of its work, for errors.
    what: &'static str,
    desk: Mapping<Desk>,
    pid: libc::pid_t,
    _watch: death::Watch,
    /// [`death::count`] when the process was last known to live.
    deaths: u32,
    /// Why it accepts no further order.
    broken: Option<Refusal>,
}

impl Nursery {
    /// Starts the nursery on `cpu`, to which the calling thread is pinned, and waits until it is lean. It makes one child
    /// first, so that a refusal comes before anything is measured.
    /// `one`, which `what` names, makes one child, waits for it, and returns whether it ended as it should. The nursery
    /// keeps the descriptor `keep`.
    ///
    /// # Safety
    /// `one` runs after a fork and without a heap: it must be async-signal-safe, and what it refers to must
    /// be static or lie in `one` itself.
    pub(super) unsafe fn open(
        what: &'static str,
        cpu: usize,
        keep: Option<RawFd>,
        one: impl FnMut() -> io::Result<bool>,
    ) -> Result<Self, Refusal> {
        let desk = Mapping::<Desk>::new(1)?;
        let watch = death::Watch::new()?;
        let deaths = death::count();
        let shared = &desk[0];
        let surplus = lean::surplus(std::ptr::from_ref(shared).addr());
        // SAFETY: what the child does allocates nothing and calls only what is async-signal-safe, as the
        // caller promises for `one`. Of memory it uses this frame, `shared` and what `one` promises.
        let made = unsafe {
            process::fork(&[death::SIGNAL], [keep, None], || {
                // With an inherited SIG_IGN the kernel would reap the children itself.
                libc::signal(libc::SIGCHLD, libc::SIG_DFL);
                let lean = surplus.as_ref().is_some_and(|surplus| surplus.unmap());
                shared.lean.store(lean, Ordering::Relaxed);
                shared.serve(one)
            })
        };
        let pid = made.map_err(|error| match error.raw_os_error() {
            // The death of the nursery would go unnoticed.
            Some(libc::EINVAL) => Refusal::skip(
                "a child cannot announce its end by a chosen signal: an emulator runs this program",
                "a machine, or an emulated one, of this architecture",
            ),
            _ => task_refusal(what, &error),
        })?;
        let (found, collected, broken) = (ProbeFound::default(), 0, None);
        let mut nursery = Self { found, collected, what, desk, pid, _watch: watch, deaths, broken };
        nursery.order(0)?;
        process::check_pin(pid, cpu)?;
        if nursery.order(1)? != 1 {
            return Err(Refusal::Failed(format!("{what}: the child did not end as it should")));
        }
        nursery.found = nursery.surroundings();
        Ok(nursery)
    }

    /// Orders `children` children, one after the other; returns how many ended as they should. This is the timed part.
    #[inline]
    fn order(&mut self, children: u64) -> Result<u64, Refusal> {
        if let Some(refusal) = &self.broken {
            return Err(refusal.clone());
        }
        let desk = &self.desk[0];
        let before = desk.order.load(Ordering::Relaxed);
        let order = before.wrapping_add(1);
        desk.children.store(children, Ordering::Relaxed);
        desk.order.store(order, Ordering::Release);
        let mut slept = futex::wake(&desk.order, 0);
        while desk.done.load(Ordering::Acquire) != order {
            match slept {
                Ok(()) | Err(libc::EINTR) => {}
                Err(errno) => return Err(refusal("futex", &io::Error::from_raw_os_error(errno))),
            }
            // The process may have died before the sleep, too early for its signal to interrupt it.
            if death::count() != self.deaths || slept.is_err() {
                self.deaths = death::count();
                if let Err((_, refusal)) = process::check_alive(self.pid) {
                    self.broken = Some(refusal.clone());
                    return Err(refusal);
                }
            }
            slept = futex::wait(&desk.done, before, 0);
        }
        match desk.error.load(Ordering::Relaxed) {
            0 => Ok(desk.collected.load(Ordering::Relaxed)),
            errno => Err(task_refusal(self.what, &io::Error::from_raw_os_error(errno))),
        }
    }

    /// The parent of the children, for the record.
    fn surroundings(&self) -> ProbeFound {
        let lean = match self.desk[0].lean.load(Ordering::Relaxed) {
            true => "the program and the C library",
            false => "everything that the measuring process has mapped (it could not be listed or unmapped)",
        };
        ProbeFound {
            address_space: Some(lean.into()),
            resident_kib: lean::resident_kib(self.pid),
            mappings: lean::mappings(self.pid),
            ..ProbeFound::default()
        }
    }
}

impl Crossing for Nursery {
    fn prepare(&mut self, _: u64) -> Result<(), Refusal> {
        process::check_alive(self.pid).map_err(|(_, refusal)| refusal)?;
        // The nursery may still be on its way to sleep.
        give_way();
        Ok(())
    }

    /// An order for no child takes the same way there and back; the sampler subtracts it as the empty batch.
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        self.collected += self.order(passes)?;
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        counts[0] = Some(mem::take(&mut self.collected));
        // Otherwise the nursery might take the CPU in the batch of another probe.
        give_way();
        Ok(())
    }

    fn facts(&self) -> Facts {
        Facts::of_probe(ProbeAsked::default(), self.found.clone())
    }
}

impl Drop for Nursery {
    fn drop(&mut self) {
        process::kill(self.pid);
        process::reap(self.pid);
    }
}

impl Desk {
    /// The nursery's loop, until it is killed. All signals are blocked.
    fn serve(&self, mut one: impl FnMut() -> io::Result<bool>) {
        let mut last = 0;
        loop {
            let order = self.order.load(Ordering::Acquire);
            if order == last {
                // Whatever ends the sleep, the loop looks again.
                let _ = futex::wait(&self.order, last, 0);
                continue;
            }
            last = order;
            schedule(libc::SCHED_OTHER);
            let (mut collected, mut error) = (0, 0);
            for _ in 0..self.children.load(Ordering::Relaxed) {
                match one() {
                    Ok(as_it_should) => collected += u64::from(as_it_should),
                    Err(why) => {
                        error = why.raw_os_error().unwrap_or(libc::EIO);
                        break;
                    }
                }
            }
            self.collected.store(collected, Ordering::Relaxed);
            self.error.store(error, Ordering::Relaxed);
            self.done.store(order, Ordering::Release);
            schedule(libc::SCHED_BATCH);
            // Waking cannot fail on a word that is mapped.
            let _ = futex::wake(&self.done, 0);
        }
    }
}

/// Sets the calling task's policy. While the nursery waits for an order it is a batch task, which preempts nothing when
/// it is woken: the measuring thread goes to sleep by itself, so an involuntary switch of that thread is always caused
/// by another task. If the call is refused, only this distinction is lost. The children are ordinary tasks.
fn schedule(policy: i32) {
    let priority = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters live through the call, which only reads them.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) };
}
