//! Words in shared memory: `futex_waitv`, and spinning.

use super::descriptor::two_threads;
use crate::task::Tasks;
use crate::task::media::futex;
use crate::task::media::{End, Ends, Give, Medium, Passed, Take, errno};
use crate::task::refusal;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{hint, io, ptr};
use tollgate_measure::Refusal;

/// A word on cache lines of its own (two, for the adjacent-line prefetcher): 1 is a token.
#[repr(align(128))]
#[derive(Default)]
struct Word(AtomicU32);

/// The words of both directions, and one that is never set.
#[derive(Default)]
struct Words {
    tokens: [Word; 2],
    other: Word,
}

/// A wait on words.
pub(super) trait Watch: Send + 'static {
    /// Whether this host supports this way to wait.
    fn check() -> Result<(), Refusal> {
        Ok(())
    }

    /// Returns when the token may be there.
    fn wait(token: &AtomicU32, other: &AtomicU32) -> Passed;
}

/// Two threads and two words.
pub(super) struct Over<W>(PhantomData<fn() -> W>);

pub(super) type Waitv = Over<ByWaitv>;
pub(super) type Spin = Over<BySpinning<20_000, false>>;
pub(super) type SpinPause = Over<BySpinning<1_000, true>>;
pub(super) type Umwait = Over<ByMonitor>;

pub(super) struct WordEnd<W> {
    words: Arc<Words>,
    at: usize,
    how: PhantomData<fn() -> W>,
}

impl<W: Watch> Medium for Over<W> {
    type Give = WordEnd<W>;
    type Take = WordEnd<W>;

    fn ring(len: usize, tasks: Tasks) -> Result<Ends<Self>, Refusal> {
        two_threads(len, tasks)?;
        W::check()?;
        let words = Arc::<Words>::default();
        let end = |at| WordEnd { words: Arc::clone(&words), at, how: PhantomData };
        Ok(Box::new([0, 1].map(|at| Ok(End { take: end(at), give: end(1 - at) })).into_iter()))
    }
}

/// The word's bit that the receiver sets before it sleeps.
const ASLEEP: u32 = 2;

impl<W: Watch> Give for WordEnd<W> {
    #[inline]
    fn give(&mut self) -> Passed {
        let word = &self.words.tokens[self.at].0;
        match word.swap(1, Ordering::AcqRel) {
            ASLEEP => futex::wake(word, libc::FUTEX_PRIVATE_FLAG),
            _ => Ok(()),
        }
    }
}

impl<W: Watch> Take for WordEnd<W> {
    #[inline]
    fn take(&mut self) -> Passed {
        let word = &self.words.tokens[self.at].0;
        while word.load(Ordering::Acquire) != 1 {
            W::wait(word, &self.words.other.0)?;
        }
        word.store(0, Ordering::Relaxed);
        Ok(())
    }
}

/// Announces that the receiver sleeps; false if the token came first.
#[inline]
fn announce(token: &AtomicU32) -> bool {
    token.compare_exchange(0, ASLEEP, Ordering::AcqRel, Ordering::Acquire) != Err(1)
}

/// `futex_waitv` on both words.
pub(super) enum ByWaitv {}

/// `struct futex_waitv` of linux/futex.h.
#[repr(C)]
struct Waiter {
    value: u64,
    address: u64,
    flags: u32,
    reserved: u32,
}

/// FUTEX2_SIZE_U32 with FUTEX2_PRIVATE.
const WORD_OF_32_BITS: u32 = 0x02 | 128;

impl ByWaitv {
    fn call(waiters: &[Waiter]) -> Passed {
        let (at, len) = (waiters.as_ptr(), waiters.len());
        let no_limit = ptr::null::<libc::timespec>();
        // SAFETY: the words of the waiters live, and no timeout is given.
        match unsafe { libc::syscall(libc::SYS_futex_waitv, at, len, 0, no_limit, 0) } {
            0.. => Ok(()),
            _ => match errno() {
                libc::EAGAIN => Ok(()),
                error => Err(error),
            },
        }
    }
}

impl Watch for ByWaitv {
    fn check() -> Result<(), Refusal> {
        let word = AtomicU32::new(0);
        // A word that has another value already: the call returns at once.
        match Self::call(&[waiter(&word, 1)]) {
            Ok(()) => Ok(()),
            Err(libc::ENOSYS) => Err(Refusal::skip(
                "there is no futex_waitv here: the kernel is older, or a filter hides it",
                "Linux 5.16 or newer, and no filter that hides futex_waitv",
            )),
            Err(error) => Err(refusal("futex_waitv", &io::Error::from_raw_os_error(error))),
        }
    }

    #[inline]
    fn wait(token: &AtomicU32, other: &AtomicU32) -> Passed {
        if announce(token) {
            Self::call(&[waiter(token, ASLEEP), waiter(other, 0)])?;
        }
        Ok(())
    }
}

fn waiter(word: &AtomicU32, value: u32) -> Waiter {
    Waiter { value: value.into(), address: word.as_ptr() as u64, flags: WORD_OF_32_BITS, reserved: 0 }
}

/// Looks at the word so often, with or without a pause instruction between two looks, and sleeps then, so that the other
/// probes have the CPU between two batches.
pub(super) enum BySpinning<const LOOKS: u32, const PAUSE: bool> {}

impl<const LOOKS: u32, const PAUSE: bool> Watch for BySpinning<LOOKS, PAUSE> {
    #[inline]
    fn wait(token: &AtomicU32, _: &AtomicU32) -> Passed {
        for _ in 0..LOOKS {
            if token.load(Ordering::Acquire) == 1 {
                return Ok(());
            }
            if PAUSE {
                hint::spin_loop();
            }
        }
        if announce(token) { futex::wait(token, ASLEEP, libc::FUTEX_PRIVATE_FLAG) } else { Ok(()) }
    }
}

/// UMONITOR and UMWAIT: the processor waits in user mode for a write to the word's cache line.
pub(super) enum ByMonitor {}

impl ByMonitor {
    /// Waits before it sleeps. The kernel bounds each, to 100,000 ticks by default
    /// (/sys/devices/system/cpu/umwait_control/max_time).
    const WAITS: u32 = 16;
}

impl Watch for ByMonitor {
    fn check() -> Result<(), Refusal> {
        if has_waitpkg() {
            return Ok(());
        }
        Err(Refusal::skip(
            "the processor has no UMWAIT, or the hypervisor does not pass it on",
            "an x86-64 processor with the flag waitpkg in /proc/cpuinfo (Intel since Tremont and Alder Lake)",
        ))
    }

    #[inline]
    fn wait(token: &AtomicU32, _: &AtomicU32) -> Passed {
        for _ in 0..Self::WAITS {
            // Looked at after the monitor is armed, so that no write is missed.
            arm(token);
            if token.load(Ordering::Acquire) == 1 {
                return Ok(());
            }
            wait_for_write();
        }
        if announce(token) { futex::wait(token, ASLEEP, libc::FUTEX_PRIVATE_FLAG) } else { Ok(()) }
    }
}

/// CPUID leaf 7, ECX bit 5 (Intel SDM volume 2A, "CPUID").
#[cfg(target_arch = "x86_64")]
fn has_waitpkg() -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    __cpuid(0).eax >= 7 && __cpuid_count(7, 0).ecx & 1 << 5 != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn has_waitpkg() -> bool {
    false
}

/// UMONITOR of the word's line. Only after [`has_waitpkg`].
#[inline(always)]
fn arm(word: &AtomicU32) {
    // SAFETY: the instruction reads no memory, and `check` found that the processor has it.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!("umonitor {}", in(reg) word.as_ptr(), options(nostack, preserves_flags));
    }
    let _ = word;
}

/// UMWAIT in the lighter state, C0.1, without a limit of ours. Only after [`has_waitpkg`].
#[inline(always)]
fn wait_for_write() {
    // SAFETY: the instruction changes the flags only, and `check` found that the processor has it.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!("umwait {0:e}", in(reg) 1, in("eax") u32::MAX, in("edx") u32::MAX, options(nostack));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_wakes_only_a_receiver_that_sleeps() {
        let word = AtomicU32::new(1);
        assert!(!announce(&word), "the token came first");
        word.store(0, Ordering::Relaxed);
        assert!(announce(&word));
        assert!(announce(&word), "it sleeps again after a wake-up without a token");
        assert_eq!(word.into_inner(), ASLEEP);
    }

    #[test]
    fn a_receiver_that_gave_up_spinning_is_woken() {
        let mut ends = Over::<BySpinning<10, false>>::ring(2, Tasks::Threads).unwrap();
        let (mut one, mut other) = (ends.next().unwrap().unwrap(), ends.next().unwrap().unwrap());
        let receiver = std::thread::spawn(move || other.take.take());
        while one.words_now() != ASLEEP {
            std::thread::yield_now();
        }
        // It has announced its sleep; most likely it sleeps then, and only a wake-up ends that.
        std::thread::sleep(std::time::Duration::from_millis(20));
        one.give.give().unwrap();
        assert_eq!(receiver.join().unwrap(), Ok(()));
    }

    impl<W: Watch> End<Over<W>> {
        /// The word that this end gives into.
        fn words_now(&self) -> u32 {
            self.give.words.tokens[self.give.at].0.load(Ordering::Acquire)
        }
    }
}
