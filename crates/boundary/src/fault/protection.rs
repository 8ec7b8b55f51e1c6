//! A write to a protected page: the kernel sends SIGSEGV, the handler redirects the write to a good page and returns,
//! and the write succeeds.

use crate::mechanism::{Mechanism, ROW};
use tollgate_measure::{Claim, Meta};
use tollgate_record::Per;

pub(crate) static META: Meta = Meta {
    id: "fault/protection",
    what: "write to a protected page: SIGSEGV is handled in user mode and returned from",
    per: Per::Touch,
    proof: &[Claim::exact("handler-runs-per-touch")],
    ..ROW
};

pub(crate) static PROTECTION: Mechanism = Mechanism {
    meta: &META,
    open: |_, _| {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
        {
            Ok(Box::new(super::protected_page::ProtectedPage::new()?))
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
        {
            Err(tollgate_measure::Refusal::skip(
                "the touching instruction is not written for this architecture",
                "its instruction and its registers in crates/boundary/src/fault/touch.rs",
            ))
        }
    },
};

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
mod tests {
    use super::PROTECTION;
    use crate::testing::{alone, ends_in_child};
    use std::{mem, ptr};
    use tollgate_measure::{Probe, Site};

    const SITE: Site = Site { cpu: 0, peer: None };

    fn disposition() -> (usize, i32) {
        // SAFETY: sigaction is plain data, and asking changes nothing.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            libc::sigaction(libc::SIGSEGV, ptr::null(), &mut action);
            (action.sa_sigaction, action.sa_flags)
        }
    }

    #[test]
    fn the_handler_runs_once_for_each_touch_also_with_two_probes_open() {
        let _turn = alone();
        let mut one = PROTECTION.open(&SITE).unwrap();
        let mut other = PROTECTION.open(&SITE).unwrap();
        let mut counts = [None];
        one.cross(1000).unwrap();
        other.cross(3).unwrap();
        one.prove(&mut counts).unwrap();
        assert_eq!(counts, [Some(1000)]);
        drop(one);
        other.cross(4).unwrap();
        other.prove(&mut counts).unwrap();
        assert_eq!(counts, [Some(7)]);
        other.prove(&mut counts).unwrap();
        assert_eq!(counts, [Some(0)]);
    }

    #[test]
    fn closing_puts_the_previous_handler_back() {
        let _turn = alone();
        let before = disposition();
        let open = PROTECTION.open(&SITE).unwrap();
        assert_ne!(disposition(), before);
        drop(open);
        assert_eq!(disposition(), before);
    }

    #[test]
    fn a_fault_that_is_not_ours_still_ends_the_process() {
        let _turn = alone();
        let open = PROTECTION.open(&SITE).unwrap();
        // SAFETY: the child is meant to die of this write to an address that is never mapped.
        let status =
            ends_in_child(|| unsafe { ptr::write_volatile(ptr::without_provenance_mut::<u8>(8), 1) });
        assert!(libc::WIFSIGNALED(status), "{status:#x}");
        assert_eq!(libc::WTERMSIG(status), libc::SIGSEGV);
        drop(open);
    }

    #[test]
    fn a_segv_that_somebody_sends_still_ends_the_process() {
        let _turn = alone();
        let open = PROTECTION.open(&SITE).unwrap();
        // The first signal is passed to the runtime's own handler, which then uninstalls itself.
        // SAFETY: raise is async-signal-safe.
        let status = ends_in_child(|| unsafe {
            libc::raise(libc::SIGSEGV);
            libc::raise(libc::SIGSEGV);
        });
        assert!(libc::WIFSIGNALED(status), "{status:#x}");
        assert_eq!(libc::WTERMSIG(status), libc::SIGSEGV);
        drop(open);
    }

    #[test]
    fn a_handler_that_was_replaced_is_noticed_before_the_batch() {
        let _turn = alone();
        let mut open = PROTECTION.open(&SITE).unwrap();
        assert!(open.prepare(1).is_ok());
        // SAFETY: the default disposition, and then what was there, which sigaction itself filled in.
        unsafe {
            let mut ours: libc::sigaction = mem::zeroed();
            let default: libc::sigaction = mem::zeroed();
            libc::sigaction(libc::SIGSEGV, &default, &mut ours);
            assert!(open.prepare(1).is_err());
            libc::sigaction(libc::SIGSEGV, &ours, ptr::null_mut());
        }
        assert!(open.prepare(1).is_ok());
    }
}
