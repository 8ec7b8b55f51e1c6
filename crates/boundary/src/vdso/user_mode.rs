//! Tests without any privilege whether a call enters the kernel: a child forbids itself every system call by a seccomp
//! filter and then makes the call.

use crate::task::process;
use std::mem;

/// The result of the test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The call worked where every system call fails.
    StaysInUserMode,
    /// The call failed where every system call fails.
    EntersKernel,
    /// The test could not be made.
    Unknown(String),
}

/// Runs `call` (true: it did its work) in a child that may only exit.
pub(super) fn watch(call: fn() -> bool) -> Finding {
    // The filter is made before the fork: the child of a process with threads must not allocate.
    let program = filter();
    let act = || match confine(&program) {
        true if call() => STAYED,
        true => ENTERED,
        false => NO_FILTER,
    };
    // SAFETY: the child makes only async-signal-safe calls (prctl, `call`, _exit) before it ends.
    let status = match unsafe { process::status_of(act) } {
        Ok(status) => status,
        Err((failed, error)) => return Finding::Unknown(format!("{failed}: {error}")),
    };
    match libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)) {
        Some(STAYED) => Finding::StaysInUserMode,
        Some(ENTERED) => Finding::EntersKernel,
        Some(NO_FILTER) => Finding::Unknown("the kernel accepts no seccomp filter".into()),
        _ => Finding::Unknown(format!("the child ended with wait status {status:#x}")),
    }
}

const STAYED: libc::c_int = 0;
const ENTERED: libc::c_int = 1;
const NO_FILTER: libc::c_int = 2;

/// A filter that allows exit; any other system call returns EPERM. It needs no check of the architecture, because the
/// allowed calls can only end the child.
fn filter() -> [libc::sock_filter; 5] {
    let statement = |code: u32, k: u32, jt, jf| libc::sock_filter { code: code as u16, jt, jf, k };
    [
        statement(
            libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
            mem::offset_of!(libc::seccomp_data, nr) as u32,
            0,
            0,
        ),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::SYS_exit_group as u32, 2, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::SYS_exit as u32, 1, 0),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0, 0),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
    ]
}

/// Installs the filter in the calling process; it cannot be removed.
fn confine(program: &[libc::sock_filter; 5]) -> bool {
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: prctl reads the program, which outlives the call; the kernel keeps a copy.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{Finding, watch};
    use crate::testing::alone;

    #[test]
    fn a_real_system_call_is_found_out() {
        let _turn = alone();
        // SAFETY: getppid has no arguments.
        assert_eq!(watch(|| unsafe { libc::syscall(libc::SYS_getppid) } >= 0), Finding::EntersKernel);
    }

    #[test]
    fn what_needs_no_kernel_passes() {
        let _turn = alone();
        assert_eq!(watch(|| true), Finding::StaysInUserMode);
    }

    #[test]
    fn a_child_that_dies_proves_nothing() {
        let _turn = alone();
        // SAFETY: ends the child, and only the child.
        let found = watch(|| unsafe { libc::_exit(77) });
        assert!(matches!(found, Finding::Unknown(_)), "{found:?}");
    }
}
