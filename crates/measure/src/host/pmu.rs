//! Whether hardware counters can be read here, found out by trying.

use super::child::{Attempt, IDLE, errno, in_child};
use std::{io, mem};
use tollgate_record::host::{Host, Pmu};

/// The first published layout of `struct perf_event_attr`, which every kernel accepts.
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
}

/// PERF_TYPE_HARDWARE and PERF_COUNT_HW_CPU_CYCLES are both zero.
const HARDWARE_CYCLES: (u32, u64) = (0, 0);
/// Bits 5 and 6 of the flags.
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;

/// PERF_TYPE_SOFTWARE and PERF_COUNT_SW_PAGE_FAULTS.
const PAGE_FAULTS: (u32, u64) = (1, 2);

/// Opens a counter of user-mode cycles, makes it count, and says what happened.
pub(super) fn attempt(host: &Host) -> Pmu {
    let outcome = in_child(cycles).unwrap_or_else(|| match cycles() {
        // Without a child it is tried here.
        0 => Attempt::Works,
        IDLE => Attempt::Idle,
        code => Attempt::Refused(code.into()),
    });
    let reason = match outcome {
        Attempt::Works => return Pmu { present: true, reason: None },
        Attempt::Idle => "the cycle counter opens but stays at zero".into(),
        Attempt::Refused(errno) => why_not(errno, host),
        Attempt::Killed => "the seccomp filter in force ends a process that calls perf_event_open".into(),
    };
    Pmu { present: false, reason: Some(reason) }
}

/// Counts the cycles of a short loop: 0 when there were some, [`IDLE`] when there were none, or the
/// error number.
fn cycles() -> u8 {
    let fd = open(HARDWARE_CYCLES);
    if fd < 0 {
        return errno();
    }
    let mut work = 1_u64;
    for _ in 0..10_000 {
        work = std::hint::black_box(work.wrapping_mul(3));
    }
    let mut count = 0_u64;
    // SAFETY: `count` is valid for the eight bytes that a counter without a read format gives.
    let got = unsafe { libc::read(fd, (&raw mut count).cast(), mem::size_of::<u64>()) };
    let answer = match (got, count) {
        (8, 0) => IDLE,
        (8, _) => 0,
        _ => errno(),
    };
    // SAFETY: the descriptor is ours and is not used again.
    unsafe { libc::close(fd) };
    answer
}

/// Opens an event that the kernel counts by itself, of user mode: 0 or the error number.
pub(super) fn software_event() -> u8 {
    let fd = open(PAGE_FAULTS);
    if fd < 0 {
        return errno();
    }
    // SAFETY: the descriptor is ours and is not used again.
    unsafe { libc::close(fd) };
    0
}

/// A counter on this thread, in user mode; negative when it is refused.
fn open((kind, config): (u32, u64)) -> libc::c_int {
    let attributes = Attributes {
        kind,
        size: mem::size_of::<Attributes>() as u32,
        config,
        sample_period: 0,
        sample_type: 0,
        read_format: 0,
        flags: EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
        wakeup: 0,
        breakpoint: 0,
        config1: 0,
    };
    const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 8;
    // SAFETY: the attributes are valid for the size that they state; the kernel only reads them. This
    // thread (0), any CPU (-1), no group (-1).
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)
    };
    fd as libc::c_int
}

/// Why the counters cannot be read, from the error number of the attempt and what else is known.
#[must_use]
pub fn why_not(errno: i32, host: &Host) -> String {
    match errno {
        libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::ENXIO => match &host.hypervisor {
            Some(name) => format!("no counters exposed by the hypervisor ({name})"),
            None => "the kernel has no driver for this processor's counters".into(),
        },
        libc::EACCES | libc::EPERM => match host.kernel.perf_event_paranoid {
            // Up to level 2 every user may count user-mode cycles, so something else refuses.
            Some(level) if level > 2 => format!("refused: kernel.perf_event_paranoid is {level}"),
            _ if host.kernel.seccomp == Some(true) => {
                "refused, probably by the seccomp filter in force".into()
            }
            _ => "refused by a security module or the kernel's lockdown".into(),
        },
        libc::ENOSYS if host.kernel.seccomp == Some(true) => {
            "perf_event_open is refused by the seccomp filter in force, or not in this kernel".into()
        }
        libc::ENOSYS => "this kernel was built without perf events".into(),
        libc::EMFILE | libc::ENFILE => "too many files are open to open a counter".into(),
        libc::EBUSY => "another user has reserved the counters".into(),
        other => format!("perf_event_open: {}", io::Error::from_raw_os_error(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_the_kernels_first() {
        assert_eq!(mem::size_of::<Attributes>(), 64);
    }

    #[test]
    fn each_refusal_has_its_own_reason() {
        let mut host = Host::default();
        assert!(why_not(libc::ENOENT, &host).contains("no driver"));
        host.hypervisor = Some("KVM".into());
        assert_eq!(why_not(libc::EOPNOTSUPP, &host), "no counters exposed by the hypervisor (KVM)");
        host.kernel.perf_event_paranoid = Some(2);
        assert!(why_not(libc::EACCES, &host).contains("security module"));
        host.kernel.seccomp = Some(true);
        assert!(why_not(libc::EPERM, &host).contains("seccomp"));
        assert!(why_not(libc::ENOSYS, &host).contains("seccomp"));
        host.kernel.perf_event_paranoid = Some(4);
        assert!(why_not(libc::EACCES, &host).contains("perf_event_paranoid is 4"));
        assert!(why_not(libc::EINVAL, &host).starts_with("perf_event_open: "));
    }
}
