//! The legacy entry: `int 0x80`, an interrupt gate to the 32-bit system calls.

use super::ROW;
use super::getppid::{ParentCalls, parent};
use crate::mechanism::Mechanism;
use crate::task::process;
use std::sync::OnceLock;
use std::{mem, ptr};
use tollgate_measure::{Meta, Refusal};

pub(crate) static INT80: Mechanism = Mechanism {
    meta: &Meta {
        id: "syscall/int80",
        what: "32-bit system call getppid by int 0x80: an interrupt gate in place of SYSCALL",
        ..ROW
    },
    open: |_, _| {
        available()?;
        // SAFETY: a child tried it.
        Ok(Box::new(ParentCalls::new(|| unsafe { call() }, parent)))
    },
};

/// `getppid` in the table of 32-bit system calls (arch/x86/entry/syscalls/syscall_32.tbl).
#[cfg(target_arch = "x86_64")]
const GETPPID_32: isize = 64;

/// The call.
///
/// # Safety
/// The kernel has it ([`available`]); otherwise the process ends by SIGSEGV.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) unsafe fn call() -> i32 {
    let result: isize;
    // SAFETY: the kernel keeps all registers but rax, and kernels before 4.17 clear r8 to r11; no memory is
    // involved.
    unsafe {
        std::arch::asm!("int 0x80", inlateout("rax") GETPPID_32 => result,
            lateout("r8") _, lateout("r9") _, lateout("r10") _, lateout("r11") _, options(nostack));
    }
    result as i32
}

/// Never called: [`available`] refuses.
///
/// # Safety
/// None needed.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe fn call() -> i32 {
    -libc::ENOSYS
}

/// Tries the call in a child, which a kernel without it ends by SIGSEGV. Once for each process, because after a fork the
/// next write to each page faults.
pub(crate) fn available() -> Result<(), Refusal> {
    static TRIED: OnceLock<Result<(), Refusal>> = OnceLock::new();
    TRIED.get_or_init(tried).clone()
}

fn tried() -> Result<(), Refusal> {
    if cfg!(not(target_arch = "x86_64")) {
        return Err(Refusal::skip("int 0x80 is an instruction of x86", "an x86-64 machine"));
    }
    let act = || {
        // SAFETY: async-signal-safe calls; sigaction is plain data, and all zeroes is the default disposition.
        unsafe {
            libc::setrlimit(libc::RLIMIT_CORE, &libc::rlimit { rlim_cur: 0, rlim_max: 0 });
            libc::sigaction(libc::SIGSEGV, &mem::zeroed(), ptr::null_mut());
            i32::from(call() != parent())
        }
    };
    // SAFETY: as above.
    let status = unsafe { process::status_of(act) };
    let status = status.map_err(|(failed, error)| crate::task::task_refusal(failed, &error))?;
    verdict(status)
}

/// The meaning of the child's wait status.
fn verdict(status: i32) -> Result<(), Refusal> {
    let enable = "a kernel with CONFIG_IA32_EMULATION, not started with ia32_emulation=0, and no filter";
    if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 {
        Ok(())
    } else if libc::WIFSIGNALED(status) {
        let signal = libc::WTERMSIG(status);
        Err(Refusal::skip(
            format!("int 0x80 ends the process by signal {signal}: it is not compiled in"),
            enable,
        ))
    } else {
        Err(Refusal::skip("int 0x80 does not answer as getppid does", enable))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_was_ended_or_answered_wrongly_is_a_skip() {
        assert_eq!(verdict(0), Ok(()));
        for status in [libc::SIGSEGV, libc::SIGSYS, 1 << 8] {
            assert!(matches!(verdict(status), Err(Refusal::Skip { .. })), "{status:#x}");
        }
    }

    #[test]
    fn it_is_tried_without_harm() {
        let _turn = crate::testing::alone();
        // This process continues with any answer.
        assert!(!matches!(available(), Err(Refusal::Failed(_))));
    }
}
