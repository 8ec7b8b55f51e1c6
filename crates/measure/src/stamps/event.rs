//! Software events of the calling thread, each with the kernel's time stamp, with no privilege.

use super::Stamper;
use super::ring::{Taken, parse};
use crate::perf::{self, abi};
use crate::refusal::Refusal;
use perf_event_open_sys as sys;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{io, ptr};

/// The events that can be stamped. Use each alone: a second one adds its own work to the crossing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelEvent {
    /// A page fault, just after the kernel was entered.
    Fault,
    /// A page fault without a wait for a device, at the end of its handling.
    MinorFault,
    /// A page fault with such a wait, at the end of its handling.
    MajorFault,
}

impl KernelEvent {
    fn config(self) -> u64 {
        u64::from(match self {
            Self::Fault => abi::PERF_COUNT_SW_PAGE_FAULTS,
            Self::MinorFault => abi::PERF_COUNT_SW_PAGE_FAULTS_MIN,
            Self::MajorFault => abi::PERF_COUNT_SW_PAGE_FAULTS_MAJ,
        })
    }
}

/// Pages of the ring's data: a power of two; 2,700 samples fit, and 65 KiB count against what a user may lock.
const DATA_PAGES: usize = 16;

/// One event of the calling thread in user mode, sampled each time while it is on.
pub struct KernelEvents {
    file: File,
    base: *mut u8,
    page: usize,
    /// Nanoseconds by which this time namespace is ahead of the kernel's own clock, which stamps.
    ahead: i64,
}

impl KernelEvents {
    /// Samples that fit between two calls of [`KernelEvents::take`]; one record takes 24 bytes.
    pub const MOST: usize = DATA_PAGES * 4096 / 24 - 16;

    /// Opens the event, switched off.
    ///
    /// # Errors
    /// A skip where the kernel refuses it.
    pub fn open(event: KernelEvent) -> Result<Self, Refusal> {
        let mut attributes = perf::attributes(abi::PERF_TYPE_SOFTWARE, event.config());
        attributes.sample_type = u64::from(abi::PERF_SAMPLE_TIME | abi::PERF_SAMPLE_ADDR);
        attributes.clockid = libc::CLOCK_MONOTONIC_RAW;
        attributes.__bindgen_anon_1.sample_period = 1;
        attributes.set_disabled(1);
        attributes.set_exclude_kernel(1);
        attributes.set_use_clockid(1);
        // Nothing waits for samples; without this a ring that is half full wakes a waiter inside a crossing.
        attributes.set_watermark(1);
        attributes.__bindgen_anon_2.wakeup_watermark = u32::MAX;
        let file = perf::open(&mut attributes, 0, -1).map_err(|error| refusal(&error))?;
        // SAFETY: sysconf has no memory arguments.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let (bytes, access) = ((1 + DATA_PAGES) * page, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing of ours.
        let base =
            unsafe { libc::mmap(ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            return Err(unmapped(&io::Error::last_os_error()));
        }
        Ok(Self { file, base: base.cast(), page, ahead: ahead() })
    }
}

impl Stamper for KernelEvents {
    fn enable(&mut self) -> Result<(), Refusal> {
        // SAFETY: a request of our own descriptor that takes an integer.
        match unsafe { sys::ioctls::ENABLE(self.file.as_raw_fd(), 0) } {
            0.. => Ok(()),
            _ => Err(Refusal::os("switch a perf event on")),
        }
    }

    fn disable(&mut self) -> Result<(), Refusal> {
        // SAFETY: a request of our own descriptor that takes an integer.
        match unsafe { sys::ioctls::DISABLE(self.file.as_raw_fd(), 0) } {
            0.. => Ok(()),
            _ => Err(Refusal::os("switch a perf event off")),
        }
    }

    fn take(&mut self) -> Taken {
        let control: *mut abi::perf_event_mmap_page = self.base.cast();
        // SAFETY: the first page of the mapping is the kernel's control page, aligned and alive as long as
        // self; head and tail are words that kernel and user share, so they are used as atomics.
        let (head, tail) = unsafe {
            (
                AtomicU64::from_ptr(&raw mut (*control).data_head),
                AtomicU64::from_ptr(&raw mut (*control).data_tail),
            )
        };
        let size = DATA_PAGES * self.page;
        let (end, start) = (head.load(Ordering::Acquire), tail.load(Ordering::Relaxed));
        // If more was written than the ring holds, the oldest is gone.
        let start = start.max(end.saturating_sub(size as u64));
        // SAFETY: the data follow the control page and are `size` bytes long; the kernel does not write
        // between tail and head, so a shared slice of them is not changed while it lives.
        let data = unsafe { std::slice::from_raw_parts(self.base.add(self.page), size) };
        let bytes: Vec<u8> = (start..end).map(|at| data[at as usize % size]).collect();
        tail.store(end, Ordering::Release);
        let mut taken = parse(&bytes);
        for stamp in &mut taken.stamps {
            stamp.ns = stamp.ns.wrapping_add_signed(self.ahead);
        }
        taken
    }
}

impl Drop for KernelEvents {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `open` made; nothing refers to it any more.
        unsafe { libc::munmap(self.base.cast(), (1 + DATA_PAGES) * self.page) };
    }
}

/// How far the clock of this time namespace is ahead; 0 if it is not known.
pub(super) fn ahead() -> i64 {
    std::fs::read_to_string("/proc/self/timens_offsets").map_or(0, |text| offset(&text))
}

/// The offset of the monotonic clocks, `monotonic 86400 0`, in nanoseconds.
fn offset(text: &str) -> i64 {
    let rest = text.lines().find_map(|line| line.strip_prefix("monotonic"));
    let mut numbers = rest.unwrap_or_default().split_ascii_whitespace().map(|word| word.parse::<i64>().ok());
    let (seconds, ns) = (numbers.next().flatten().unwrap_or(0), numbers.next().flatten().unwrap_or(0));
    seconds.saturating_mul(1_000_000_000).saturating_add(ns)
}

/// Why there is no ring, from the kernel's error: here it refuses what may not be locked with EPERM
/// (perf_event_open(2), ERRORS).
fn unmapped(error: &io::Error) -> Refusal {
    match error.raw_os_error() {
        Some(libc::EPERM) => Refusal::skip(
            format!(
                "the ring for the kernel's stamps does not fit into the memory that may be locked ({error})"
            ),
            "ulimit -l 1024, or sysctl kernel.perf_event_mlock_kb=1024",
        ),
        _ => refusal(error),
    }
}

/// Why there are no stamps, from the kernel's error.
fn refusal(error: &io::Error) -> Refusal {
    let why = |reason: &str, enable: &str| Refusal::skip(format!("{reason} ({error})"), enable);
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => why(
            "the kernel refuses perf events to this process",
            "sudo sysctl kernel.perf_event_paranoid=2, or a container profile that allows perf_event_open",
        ),
        Some(libc::ENOSYS) => why(
            "there is no perf_event_open here: the kernel does not have it or a filter hides it",
            "a kernel with CONFIG_PERF_EVENTS, and no filter that hides perf_event_open",
        ),
        Some(libc::EINVAL | libc::ENOENT | libc::EOPNOTSUPP) => {
            why("the kernel does not stamp software events with CLOCK_MONOTONIC_RAW", "Linux 4.1 or newer")
        }
        Some(libc::EMFILE | libc::ENFILE) => {
            why("no more files may be opened", "raise the limit on open files with `ulimit -n`")
        }
        Some(libc::ENOMEM) => Refusal::of("make room for the kernel's stamps", error),
        _ => Refusal::Failed(format!("open a perf event: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_namespace_is_ahead_or_behind_by_its_offset() {
        assert_eq!(offset("monotonic           0         0\nboottime            7         0\n"), 0);
        assert_eq!(offset("monotonic       86400   1000000\nboottime        86400 0\n"), 86_400_001_000_000);
        assert_eq!(offset("monotonic         -10         0\n"), -10_000_000_000);
        assert_eq!(offset(""), 0);
    }

    #[test]
    fn a_refusal_says_what_would_help() {
        for (code, word) in [
            (libc::EACCES, "perf_event_paranoid"),
            (libc::EPERM, "container profile"),
            (libc::ENOSYS, "CONFIG_PERF_EVENTS"),
            (libc::EINVAL, "4.1"),
            (libc::EMFILE, "ulimit -n"),
            (libc::ENOMEM, "ulimit -v"),
        ] {
            match refusal(&io::Error::from_raw_os_error(code)) {
                Refusal::Skip { enable, .. } => assert!(enable.contains(word), "{code}: {enable}"),
                Refusal::Failed(why) => panic!("{code}: {why}"),
            }
        }
        assert!(matches!(refusal(&io::Error::from_raw_os_error(libc::EIO)), Refusal::Failed(_)));
        let locked = unmapped(&io::Error::from_raw_os_error(libc::EPERM));
        assert!(matches!(locked, Refusal::Skip { enable, .. } if enable.contains("mlock")));
    }
}
