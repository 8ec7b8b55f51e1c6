//! One operation through the two rings of io_uring: submitted, done, collected.

use super::seccomp;
use crate::mechanism::{Mechanism, Opened, ROW};
use io_uring::{IoUring, opcode};
use std::{fs, io, mem};
use tollgate_measure::{Claim, Crossing, Facts, Meta, Refusal, Site};
use tollgate_record::Per;
use tollgate_record::family::ProbeAsked;

/// Entries of the submission ring: one is in flight at a time.
const ENTRIES: u32 = 1;

pub(crate) static IO_URING_NOP: Mechanism = Mechanism {
    meta: &Meta {
        id: "syscall/io_uring-nop",
        what: "io_uring: one no-operation submitted and waited for by one io_uring_enter",
        per: Per::Operation,
        proof: &[Claim::exact("completions-per-operation")],
        ..ROW
    },
    open,
};

fn open(_: &'static Meta, _: &Site) -> Opened {
    let ring = IoUring::new(ENTRIES).map_err(|error| refusal_here(&error))?;
    let mut open = NopRing { ring, submitted: 1, completed: 0 };
    // A filter may allow the set-up and refuse the use.
    match open.operate(0) {
        Ok(true) => Ok(Box::new(open)),
        Ok(false) => Err(Refusal::Failed("the first no-operation did not complete".into())),
        Err(error) => Err(refusal_here(&error)),
    }
}

/// Why the kernel gave no ring.
pub(crate) fn refusal_here(error: &io::Error) -> Refusal {
    let sysctl = fs::read_to_string("/proc/sys/kernel/io_uring_disabled").unwrap_or_default();
    refusal(error, sysctl.trim())
}

/// Why the kernel gave no ring, from its error and `kernel.io_uring_disabled`.
fn refusal(error: &io::Error, sysctl: &str) -> Refusal {
    match (error.raw_os_error(), sysctl) {
        (Some(libc::EPERM), "2") => Refusal::skip(
            "io_uring is disabled for everybody (kernel.io_uring_disabled = 2)",
            "sysctl kernel.io_uring_disabled=0",
        ),
        (Some(libc::EPERM), "1") => Refusal::skip(
            "io_uring is disabled for users outside its group (kernel.io_uring_disabled = 1)",
            "sysctl kernel.io_uring_disabled=0, or membership of the group in kernel.io_uring_group",
        ),
        (Some(libc::EPERM | libc::EACCES), _) => Refusal::skip(
            format!("io_uring is refused, probably by a seccomp filter ({error})"),
            "a container or service profile that allows io_uring_setup and io_uring_enter",
        ),
        (Some(libc::ENOSYS), _) => Refusal::skip(
            "there is no io_uring here: the kernel is built without it, or a filter hides it",
            "Linux 5.1 or newer with CONFIG_IO_URING, and no filter that hides io_uring_setup",
        ),
        (Some(libc::ENOMEM), _) => Refusal::skip(
            "the rings do not fit into the limit on locked memory or the memory of the control group",
            "a higher limit (ulimit -l 8192), or more memory for the control group",
        ),
        _ => Refusal::of("set up io_uring", error),
    }
}

struct NopRing {
    ring: IoUring,
    submitted: u64,
    completed: u64,
}

impl NopRing {
    /// One operation; true if its own completion arrived without error.
    #[inline(always)]
    fn operate(&mut self, name: u64) -> io::Result<bool> {
        let nop = opcode::Nop::new().build().user_data(name);
        // SAFETY: a no-operation refers to no memory.
        if unsafe { self.ring.submission().push(&nop) }.is_err() {
            return Err(io::Error::other("the submission ring is full"));
        }
        self.ring.submit_and_wait(1)?;
        let completion = self.ring.completion().next();
        Ok(completion.is_some_and(|done| done.user_data() == name && done.result() == 0))
    }
}

impl Crossing for NopRing {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        let (first, mut completed, mut error) = (self.submitted, 0, None);
        for name in first..first + passes {
            match self.operate(name) {
                Ok(done) => completed += u64::from(done),
                Err(found) => error = Some(found),
            }
        }
        self.submitted += passes;
        self.completed += completed;
        error.map_or(Ok(()), |error| Err(Refusal::Failed(format!("io_uring_enter: {error}"))))
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        counts[0] = Some(mem::take(&mut self.completed));
        Ok(())
    }

    fn facts(&self) -> Facts {
        let asked =
            ProbeAsked { entries: Some(ENTRIES), setup_flags: Some("none".into()), ..ProbeAsked::default() };
        Facts::of_probe(asked, seccomp())
    }
}

#[cfg(test)]
mod tests {
    use super::{IO_URING_NOP, refusal};
    use std::io;
    use tollgate_measure::{Probe, Refusal, Site};

    #[test]
    fn every_operation_completes_once_or_the_probe_refuses() {
        match IO_URING_NOP.open(&Site { cpu: 0, peer: None }) {
            Ok(mut open) => {
                let mut counts = [None];
                for passes in [1, 17, 1000] {
                    open.cross(passes).unwrap();
                    open.prove(&mut counts).unwrap();
                    assert_eq!(counts, [Some(passes)]);
                }
            }
            Err(refusal) => assert!(matches!(refusal, Refusal::Skip { .. }), "{refusal}"),
        }
    }

    #[test]
    fn each_refusal_names_what_would_change_it() {
        let cases = [
            (libc::EPERM, "2", "everybody", "io_uring_disabled=0"),
            (libc::EPERM, "1", "group", "io_uring_group"),
            (libc::EPERM, "0", "seccomp", "profile"),
            (libc::EPERM, "", "seccomp", "profile"),
            (libc::ENOSYS, "", "no io_uring", "CONFIG_IO_URING"),
            (libc::ENOMEM, "0", "locked memory", "ulimit -l"),
            (libc::EMFILE, "0", "RLIMIT_NOFILE", "ulimit -n"),
        ];
        for (errno, sysctl, why, remedy) in cases {
            match refusal(&io::Error::from_raw_os_error(errno), sysctl) {
                Refusal::Skip { reason, enable } => {
                    assert!(reason.contains(why), "{reason}");
                    assert!(enable.contains(remedy), "{enable}");
                }
                failed => panic!("{errno} with {sysctl}: {failed}"),
            }
        }
        let odd = refusal(&io::Error::from_raw_os_error(libc::EIO), "0");
        assert!(matches!(odd, Refusal::Failed(_)), "{odd}");
    }
}
