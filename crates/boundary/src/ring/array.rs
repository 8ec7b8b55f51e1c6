//! The array of a task, and the walk over it.
//!
//! The task maps it itself, after the fork, with system calls only: a forked process may not use the heap, and the first
//! write to an array that was touched before the fork would copy it.

use super::spec::{Pages, Spec, Walk};
use crate::task::{Passed, Work, media::errno};
use std::{hint::black_box, ptr};

/// Bytes from one step of a random walk to the next: a cache line.
const LINE: usize = 64;
/// The size and alignment of a huge page where they are smallest.
const HUGE: usize = 2 << 20;
const PAGE: usize = 4096;

/// The array of one task. Nothing is mapped until [`Work::enter`].
pub(super) struct Array {
    bytes: usize,
    walk: Walk,
    pages: Pages,
    mapping: *mut u8,
    mapped: usize,
    /// Where the array begins in the mapping.
    base: *mut u8,
}

// SAFETY: the mapping is reached through this value only.
unsafe impl Send for Array {}

impl Array {
    pub(super) fn new(spec: &Spec) -> Self {
        let none = ptr::null_mut();
        let bytes = usize::try_from(spec.bytes).unwrap_or(usize::MAX);
        Self { bytes, walk: spec.walk, pages: spec.pages, mapping: none, mapped: 0, base: none }
    }

    /// Its address, for looking up its pages.
    pub(super) fn address(&self) -> usize {
        self.base as usize
    }

    fn words(&self) -> usize {
        self.bytes / size_of::<u64>()
    }

    /// Address of word `at`.
    fn word(&self, at: usize) -> *mut u64 {
        debug_assert!(at < self.words());
        // SAFETY: every caller stays below `words`, so the address is inside the mapping.
        unsafe { self.base.cast::<u64>().add(at) }
    }

    /// The sum as lmbench defines it (`bread` of lib_timing.c): blocks of 128 words, then of 16, then single words, each
    /// block without a branch. No block waits for the sum of another, so that the processor can add up several at once.
    fn sum(&self) -> u64 {
        // A pointer, not an index: with an index the same loop is 8 % slower than lmbench's.
        let (mut sum, mut from, mut left) = (0_u64, self.base.cast::<u64>().cast_const(), self.words());
        // SAFETY: each block is in the `left` words from `from` on, which are in the array and have been written.
        unsafe {
            while left >= 128 {
                sum = sum.wrapping_add(block::<128>(from));
                (from, left) = (from.add(128), left - 128);
            }
            while left >= 16 {
                sum = sum.wrapping_add(block::<16>(from));
                (from, left) = (from.add(16), left - 16);
            }
            (0..left).fold(sum, |sum, word| sum.wrapping_add(from.add(word).read_volatile()))
        }
    }

    fn map(&mut self) -> Passed {
        let slack = if self.pages == Pages::Huge { HUGE } else { 0 };
        let bytes = self.bytes.checked_next_multiple_of(slack.max(PAGE)).and_then(|it| it.checked_add(slack));
        let bytes = bytes.ok_or(libc::ENOMEM)?;
        let (how, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let at = unsafe { libc::mmap(ptr::null_mut(), bytes, how, kind, -1, 0) };
        if at == libc::MAP_FAILED {
            return Err(errno());
        }
        (self.mapping, self.mapped) = (at.cast(), bytes);
        // SAFETY: the slack leaves room for the whole array behind the next boundary.
        self.base = unsafe { self.mapping.add(self.mapping.align_offset(slack.max(PAGE))) };
        let advice = if self.pages == Pages::Huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        // SAFETY: the range is our own new mapping.
        let advised = unsafe { libc::madvise(self.base.cast(), bytes - slack, advice) };
        // A kernel without transparent huge pages supports neither advice; its pages are of the base size.
        if advised != 0 && self.pages == Pages::Huge {
            return Err(errno());
        }
        Ok(())
    }

    /// Writes to every page, so that each is mapped and private to the task.
    fn touch(&self) {
        let pages = self.bytes.div_ceil(PAGE);
        // About 0.618 of all pages apart, without a common divisor: every page is touched once.
        let stride = match self.pages {
            Pages::Random => (pages * 5 / 8..).find(|stride| divisor(*stride, pages) == 1).unwrap_or(1),
            _ => 1,
        };
        for i in 0..pages {
            let page = (i * stride) % pages;
            // SAFETY: the page begins inside the array.
            unsafe { self.base.add(page * PAGE).write_volatile(1) };
        }
    }

    /// Links all lines into one cycle in random order (Sattolo's shuffle); each line's first word holds the
    /// number of the next line.
    fn chain(&self) {
        let lines = self.bytes / LINE;
        let slot = |line: usize| self.word(line * (LINE / size_of::<u64>()));
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        // SAFETY: each line is wholly inside the array.
        unsafe {
            for line in 0..lines {
                *slot(line) = line as u64;
            }
            for line in (1..lines).rev() {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                ptr::swap(slot(line), slot((random % line as u64) as usize));
            }
        }
    }
}

impl Work for Array {
    fn enter(&mut self) -> Passed {
        if self.bytes > 0 {
            self.map()?;
            self.touch();
            if self.walk == Walk::Random {
                self.chain();
            }
        }
        Ok(())
    }

    #[inline]
    fn work(&mut self) {
        if self.base.is_null() {
            return;
        }
        match self.walk {
            Walk::Sum => {
                black_box(self.sum());
            }
            Walk::Write => {
                for at in 0..self.words() {
                    // SAFETY: inside the array, which only this task accesses.
                    unsafe { self.word(at).write_volatile(at as u64) };
                }
            }
            Walk::Random => {
                let mut line = 0_usize;
                for _ in 0..self.bytes / LINE {
                    // SAFETY: `chain` wrote a line's number below the number of lines into each.
                    line = unsafe { self.word(line * (LINE / size_of::<u64>())).read_volatile() } as usize;
                }
                black_box(line);
            }
        }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        if self.mapped > 0 {
            // SAFETY: exactly the mapping that `map` made.
            unsafe { libc::munmap(self.mapping.cast(), self.mapped) };
        }
    }
}

/// The sum of a number of words, a multiple of 16.
///
/// # Safety
/// All of them may be read.
#[inline(always)]
unsafe fn block<const WORDS: usize>(from: *const u64) -> u64 {
    let mut sum = 0_u64;
    for part in (0..WORDS).step_by(16) {
        let mut word = part;
        unrolled!(16, {
            // Volatile: one load for each word, as in lmbench's loop, not one for a vector.
            // SAFETY: the caller's promise.
            sum = sum.wrapping_add(unsafe { from.add(word).read_volatile() });
            word += 1;
        });
    }
    apart(sum)
}

/// The same value, of which the compiler does not know where it comes from: it would make one chain of all blocks.
#[inline(always)]
fn apart(value: u64) -> u64 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
    {
        let mut value = value;
        // SAFETY: no instruction; `black_box` would go through memory.
        unsafe { std::arch::asm!("/* {0} */", inout(reg) value, options(nomem, nostack, preserves_flags)) };
        value
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
    black_box(value)
}

fn divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(bytes: u64, walk: Walk, pages: Pages) -> Array {
        let spec = Spec { threads: true, walk, pages, ..Spec::like_lmbench(1, bytes, 0) };
        let mut array = Array::new(&spec);
        array.enter().expect("memory");
        array
    }

    #[test]
    fn a_random_walk_meets_every_line_once() {
        for lines in [1_u64, 2, 3, 64, 1000] {
            let array = array(lines * 64, Walk::Random, Pages::Base);
            let mut met = vec![false; lines as usize];
            let mut line = 0;
            for _ in 0..lines {
                assert!(!std::mem::replace(&mut met[line], true));
                // SAFETY: a line of the array.
                line = unsafe { array.word(line * 8).read() } as usize;
            }
            assert_eq!(line, 0, "one cycle through all {lines} lines");
        }
    }

    #[test]
    fn a_sum_meets_every_word_once() {
        // Less than a block of 16, several of them, one of 128 and all three.
        for words in [1, 15, 16, 47, 128, 128 + 16 + 3, 4096] {
            let array = array(words * 8, Walk::Sum, Pages::Base);
            for word in 0..words as usize {
                // SAFETY: a word of the array.
                unsafe { array.word(word).write(3 + word as u64) };
            }
            // An arithmetic series.
            assert_eq!(array.sum(), words * 3 + words * (words - 1) / 2, "{words} words");
        }
    }

    #[test]
    fn every_page_is_touched_whatever_the_order() {
        for pages in 1..40_u64 {
            let array = array(pages * 4096, Walk::Sum, Pages::Random);
            for page in 0..pages as usize {
                // SAFETY: inside the array.
                assert_eq!(unsafe { array.base.add(page * PAGE).read() }, 1, "page {page} of {pages}");
            }
        }
    }

    #[test]
    fn no_array_is_no_work_and_odd_sizes_stay_inside() {
        for bytes in [0, 8, 64, 100, 4095, 4097] {
            for walk in [Walk::Sum, Walk::Random, Walk::Write] {
                array(bytes, walk, Pages::Base).work();
            }
        }
    }

    #[test]
    fn more_than_there_can_be_is_an_error() {
        let spec = Spec { threads: true, ..Spec::like_lmbench(1, u64::MAX, 0) };
        assert_eq!(Array::new(&spec).enter(), Err(libc::ENOMEM));
    }
}
