//! A word in shared memory and the two futex calls.

use super::{Ends, Give, Medium, Passed, Take, closed, errno};
use crate::task::{Mapping, Tasks, Zeroed};
use std::{
    ptr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};
use tollgate_measure::Refusal;

/// A word in shared memory: set and `FUTEX_WAKE`; `FUTEX_WAIT` until it is set, and clear.
pub struct Futex;

/// The word of one link, on cache lines of its own (two, for the adjacent-line prefetcher).
#[repr(align(128))]
struct Word(AtomicU32);

// SAFETY: an atomic integer; zero is the empty link.
unsafe impl Zeroed for Word {}

/// Either end of a link.
pub struct WordEnd {
    words: Arc<Mapping<Word>>,
    at: usize,
    /// `FUTEX_PRIVATE_FLAG` between threads, which saves the kernel looking up the page.
    scope: i32,
}

impl Medium for Futex {
    type Give = WordEnd;
    type Take = WordEnd;

    fn ring(len: usize, tasks: Tasks) -> Result<Ends<Self>, Refusal> {
        let words = Arc::new(Mapping::new(len)?);
        let scope = match tasks {
            Tasks::Threads => libc::FUTEX_PRIVATE_FLAG,
            Tasks::Processes => 0,
        };
        let end = move |at| WordEnd { words: Arc::clone(&words), at, scope };
        closed(len, move |at| Ok((end(at), end(at))))
    }
}

impl Give for WordEnd {
    #[inline]
    fn give(&mut self) -> Passed {
        let word = &self.words[self.at].0;
        word.store(1, Ordering::Release);
        wake(word, self.scope)
    }
}

impl Take for WordEnd {
    #[inline]
    fn take(&mut self) -> Passed {
        let word = &self.words[self.at].0;
        while word.load(Ordering::Acquire) == 0 {
            wait(word, 0, self.scope)?;
        }
        word.store(0, Ordering::Relaxed);
        Ok(())
    }
}

/// Wakes one task that waits on `word`.
#[inline]
pub(crate) fn wake(word: &AtomicU32, scope: i32) -> Passed {
    // SAFETY: the word lives; FUTEX_WAKE uses its address only.
    match unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | scope, 1) } {
        0.. => Ok(()),
        _ => Err(errno()),
    }
}

/// Sleeps while `word` holds `value`. It is not an error if it already holds another.
#[inline]
pub(crate) fn wait(word: &AtomicU32, value: u32, scope: i32) -> Passed {
    // SAFETY: the word lives; no timeout is given.
    let slept = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | scope,
            value,
            ptr::null::<libc::timespec>(),
        )
    };
    match slept {
        0 => Ok(()),
        _ => match errno() {
            libc::EAGAIN => Ok(()),
            error => Err(error),
        },
    }
}
