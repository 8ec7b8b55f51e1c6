//! System calls: into the kernel and back, by the architecture's own instruction.

mod clock_gettime;
mod getppid;
mod int80;
mod invalid;
mod io_uring_nop;
pub(crate) mod raw;
mod read;

pub(crate) use clock_gettime::{CLOCK_GETTIME, META as CLOCK_META};
pub(crate) use getppid::GETPPID;
pub(crate) use int80::{INT80, available as int80_available, call as int80};
pub(crate) use invalid::{INVALID, NUMBER as INVALID_NUMBER};
pub(crate) use io_uring_nop::{IO_URING_NOP, refusal_here as io_uring_refusal};
pub(crate) use read::READ;

use crate::mechanism;
use std::fs;
use tollgate_measure::{Claim, Meta};
use tollgate_record::Per;
use tollgate_record::family::ProbeFound;

/// The defaults of plain system calls: each answer is checked and is right.
pub(crate) const ROW: Meta =
    Meta { per: Per::Syscall, proof: &[Claim::exact("right-answers-per-syscall")], ..mechanism::ROW };

/// The seccomp mode of this process: a filter makes every system call more expensive.
fn seccomp() -> ProbeFound {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    ProbeFound { seccomp: Some(seccomp_in(&status).into()), ..ProbeFound::default() }
}

/// The mode in the kernel's words (proc(5), `Seccomp`).
fn seccomp_in(status: &str) -> &'static str {
    match status.lines().find_map(|line| line.strip_prefix("Seccomp:")).map(str::trim) {
        Some("0") => "none",
        Some("1") => "strict",
        Some("2") => "filter",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_measure::{Probe, Site};

    #[test]
    fn every_answer_is_right_and_counted_once() {
        let probes: [&dyn Probe; 4] = [&INVALID, &GETPPID, &READ, &CLOCK_GETTIME];
        for probe in probes {
            let mut open = probe.open(&Site { cpu: 0, peer: None }).unwrap();
            let mut counts = [None];
            for passes in [0, 1, 17, 1000] {
                open.prepare(passes).unwrap();
                open.cross(passes).unwrap();
                open.prove(&mut counts).unwrap();
                assert_eq!(counts, [Some(passes)], "{}", probe.meta().id);
            }
        }
    }

    #[test]
    fn the_filter_is_read_from_the_kernels_words() {
        assert_eq!(seccomp_in("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n"), "filter");
        assert_eq!(seccomp_in("NoNewPrivs:\t0\nSeccomp:\t0\n"), "none");
        assert_eq!(seccomp_in("Seccomp_filters:\t1\n"), "unknown");
    }
}
