//! Whether hardware counters can be read here, by trying.

use super::child::{Attempt, IDLE, errno, in_child};
use crate::perf::{self, abi};
use std::fs::File;
use std::io::{self, Read};
use tollgate_record::host::{Host, Pmu};

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
    let Ok(mut counter) = user_mode(abi::PERF_TYPE_HARDWARE, abi::PERF_COUNT_HW_CPU_CYCLES) else {
        return errno();
    };
    let mut work = 1_u64;
    for _ in 0..10_000 {
        work = std::hint::black_box(work.wrapping_mul(3));
    }
    // A counter without a read format gives eight bytes.
    let mut count = [0; 8];
    match (counter.read(&mut count), count) {
        (Ok(8), [0, 0, 0, 0, 0, 0, 0, 0]) => IDLE,
        (Ok(8), _) => 0,
        _ => errno(),
    }
}

/// Opens an event that the kernel counts by itself, of user mode: 0 or the error number.
pub(super) fn software_event() -> u8 {
    user_mode(abi::PERF_TYPE_SOFTWARE, abi::PERF_COUNT_SW_PAGE_FAULTS).map_or_else(|_| errno(), |_| 0)
}

/// A counter of this thread in user mode.
fn user_mode(kind: u32, event: u32) -> io::Result<File> {
    let mut attributes = perf::attributes(kind, event.into());
    // The first published layout, which every kernel accepts; the rest is zero.
    attributes.size = abi::PERF_ATTR_SIZE_VER0;
    attributes.set_exclude_kernel(1);
    perf::open(&mut attributes, 0, -1)
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
        assert_eq!(abi::PERF_ATTR_SIZE_VER0, 64);
        let cycles = (abi::PERF_TYPE_HARDWARE, abi::PERF_COUNT_HW_CPU_CYCLES);
        assert_eq!(cycles, (0, 0), "linux/perf_event.h");
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
