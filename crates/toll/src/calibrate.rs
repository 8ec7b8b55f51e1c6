//! The time of a call and a fault here, uncounted and counted: measured on a child of this process, right before and right
//! after the command.

use crate::start::StartError;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::{mem, ptr, slice};
use tollgate_measure::clock::thread_cpu_ns;
use tollgate_record::Estimate;

/// Batches of each kind, of which the median is taken.
const BATCHES: usize = 21;
/// Calls of a batch; about 0.1 ms.
pub(crate) const CALLS: usize = 500;
/// First writes to pages in a batch.
pub(crate) const PAGES: usize = 64;
const PAGE: usize = 4096;

/// Nanoseconds of one call and one fault, batch by batch.
#[repr(C)]
#[derive(Clone, Copy)]
struct Batches {
    call: [f64; BATCHES],
    fault: [f64; BATCHES],
}

/// The time of a call and of a fault, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pair {
    pub(crate) call: Estimate,
    pub(crate) fault: Estimate,
}

impl Pair {
    /// Of stamps that nobody took.
    pub(crate) const NONE: Self = Self { call: Estimate::point(0.0), fault: Estimate::point(0.0) };

    fn of(batches: &Batches) -> Self {
        Self { call: middle(batches.call), fault: middle(batches.fault) }
    }

    /// The mean of two, whose intervals contain both: the machine may have changed between them.
    pub(crate) fn spanned(&self, other: &Self) -> Self {
        Self { call: spanned(&self.call, &other.call), fault: spanned(&self.fault, &other.fault) }
    }

    /// The mean of calls of which this share are those of `other`.
    pub(crate) fn mixed(&self, other: &Self, share: f64) -> Self {
        Self { call: Estimate::sum([self.call.scaled(1.0 - share), other.call.scaled(share)]), ..*self }
    }
}

/// The median, with the order statistics that are its 95 % interval for 21 samples (ranks 6 and 16 of the binomial
/// distribution).
fn middle(mut batches: [f64; BATCHES]) -> Estimate {
    batches.sort_by(f64::total_cmp);
    Estimate::within(batches[10], [batches[5], batches[15]])
}

/// The cost of counting a call and a fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overhead {
    /// Without counting.
    pub(crate) bare: Pair,
    /// While they are counted.
    pub(crate) counted: Pair,
    /// The part of that between the two stamps of each.
    pub(crate) inside: Pair,
}

impl Overhead {
    /// The means of both: the machine may have changed its speed between them.
    pub(crate) fn spanned(&self, other: &Self) -> Self {
        Self {
            bare: self.bare.spanned(&other.bare),
            counted: self.counted.spanned(&other.counted),
            inside: self.inside.spanned(&other.inside),
        }
    }
}

/// A child that measures each time it is asked.
pub(crate) struct Yardstick {
    pub(crate) pid: libc::pid_t,
    ask: File,
    answer: File,
}

impl Yardstick {
    pub(crate) fn start() -> Result<Self, StartError> {
        let ([asked, ask], [answer, answers]) = (crate::launch::pipe()?, crate::launch::pipe()?);
        // SAFETY: the child makes system calls only, on what was allocated before.
        match unsafe { libc::fork() } {
            -1 => Err(StartError::system("start a process")),
            0 => serve(&asked, &ask, &answers),
            pid => Ok(Self { pid, ask: ask.into(), answer: answer.into() }),
        }
    }

    pub(crate) fn measure(&mut self) -> Option<Pair> {
        self.measure_while(|| ())
    }

    /// Measures, and calls `meanwhile` once in a millisecond.
    pub(crate) fn measure_while(&mut self, mut meanwhile: impl FnMut()) -> Option<Pair> {
        let mut bytes = [0; size_of::<Batches>()];
        self.ask.write_all(b"m").ok()?;
        let mut poll = libc::pollfd { fd: self.answer.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid entry.
        while unsafe { libc::poll(&mut poll, 1, 1) } == 0 {
            meanwhile();
        }
        self.answer.read_exact(&mut bytes).ok()?;
        // SAFETY: plain numbers, of which any bits are valid.
        let batches: Batches = unsafe { mem::transmute(bytes) };
        Some(Pair::of(&batches))
    }
}

impl Yardstick {
    /// Waits until it sleeps, and a moment more, since it says so before it leaves its CPU.
    pub(crate) fn rest(&self) {
        let sleeps = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
            !stat.contains(") R ")
        };
        while !sleeps() {
            std::thread::yield_now();
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

impl Drop for Yardstick {
    fn drop(&mut self) {
        // SAFETY: a child that has not been waited for; no status is wanted.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, ptr::null_mut(), libc::__WALL);
        }
    }
}

fn serve(asked: &OwnedFd, ask: &OwnedFd, answers: &OwnedFd) -> ! {
    // SAFETY: system calls on descriptors of this process and on memory that is mapped here.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // Signals of a terminal to all of its processes are for the command; this one measures after it.
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
            libc::signal(signal, libc::SIG_IGN);
        }
        libc::close(ask.as_raw_fd());
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let memory = libc::mmap(ptr::null_mut(), PAGES * PAGE, access, private, -1, 0);
        libc::madvise(memory, PAGES * PAGE, libc::MADV_NOHUGEPAGE);
        let mut byte = 0_u8;
        while memory != libc::MAP_FAILED && libc::read(asked.as_raw_fd(), (&raw mut byte).cast(), 1) == 1 {
            let batches = batches(memory.cast());
            let bytes = slice::from_raw_parts((&raw const batches).cast::<u8>(), size_of::<Batches>());
            libc::write(answers.as_raw_fd(), bytes.as_ptr().cast(), bytes.len());
        }
        libc::_exit(0)
    }
}

/// Measures. `memory` is a mapping of [`PAGES`] pages.
unsafe fn batches(memory: *mut u8) -> Batches {
    // By the time on the CPU, as the program's account is: on a busy machine others have it during many batches.
    fn timed(number: usize, cross: impl Fn(usize)) -> f64 {
        let start = thread_cpu_ns();
        let stamp = thread_cpu_ns();
        // Not an iterator: without optimization its calls would take as long as a quarter of what is measured.
        let mut at = 0;
        while at < number {
            cross(at);
            at += 1;
        }
        let end = thread_cpu_ns();
        ((end - stamp) as f64 - (stamp - start) as f64) / number as f64
    }
    // SAFETY: a call without arguments.
    let call = |_| unsafe { _ = libc::syscall(libc::SYS_getppid) };
    // SAFETY: inside of the mapping.
    let touch = |page| unsafe { memory.add(page * PAGE).write_volatile(1) };
    let mut batches = Batches { call: [0.0; BATCHES], fault: [0.0; BATCHES] };
    for at in 0..BATCHES {
        batches.call[at] = timed(CALLS, call);
        // SAFETY: the mapping, whose pages the next touches find missing.
        unsafe { libc::madvise(memory.cast(), PAGES * PAGE, libc::MADV_DONTNEED) };
        batches.fault[at] = timed(PAGES, touch);
    }
    batches
}

/// The mean of two figures, with the interval that contains both of theirs: the machine may have changed between them.
pub(crate) fn spanned(a: &Estimate, b: &Estimate) -> Estimate {
    let ci = [a.ci[0].min(b.ci[0]), a.ci[1].max(b.ci[1])];
    Estimate::within((a.estimate + b.estimate) / 2.0, ci)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_batch_does_not_move_the_figure() {
        let mut batches = [100.0; BATCHES];
        batches[3] = 9_000.0;
        assert_eq!(middle(batches), Estimate::point(100.0));
        let ramp: [f64; BATCHES] = std::array::from_fn(|at| at as f64);
        assert_eq!(middle(ramp), Estimate::within(10.0, [5.0, 15.0]));
    }

    #[test]
    fn calls_that_are_counted_in_two_ways_take_the_mean() {
        let pair = |ns| Pair { call: Estimate::point(ns), fault: Estimate::point(2.0 * ns) };
        let mixed = pair(250.0).mixed(&pair(190.0), 0.75);
        assert!((mixed.call.estimate - 205.0).abs() < 1e-9, "{mixed:?}");
        assert_eq!(mixed.fault, Estimate::point(500.0));
    }
}
