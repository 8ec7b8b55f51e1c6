//! `getppid` under a seccomp filter. A filter cannot be removed from its thread, so a thread of the probe makes the calls.

use crate::mechanism::{Mechanism, Opened};
use crate::servant::{Servant, give_up_privileges};
use crate::syscall::{ROW, raw};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use tollgate_measure::{Facts, Meta, Refusal};
use tollgate_record::family::{ProbeAsked, ProbeFound};

/// One instruction of a filter (linux/filter.h).
pub(crate) const fn op(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

pub(crate) const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
pub(crate) const IS: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
pub(crate) const ALLOW: libc::sock_filter = answer(libc::SECCOMP_RET_ALLOW);
/// Offsets in `struct seccomp_data`: the number, the first argument's low half.
pub(crate) const NUMBER: u32 = 0;
pub(crate) const ARGUMENT: u32 = 16;

/// The end of a filter, with what it decides.
pub(crate) const fn answer(decision: u32) -> libc::sock_filter {
    op(libc::BPF_RET | libc::BPF_K, 0, 0, decision)
}

/// Allows by the number: the kernel computes the answer once and caches it (since Linux 5.11).
pub(crate) static BY_NUMBER: Mechanism = Mechanism {
    meta: &Meta {
        id: "syscall/getppid-filtered",
        what: "getppid under a seccomp filter that allows it by its number",
        least_passes: Servant::LEAST_PASSES,
        ..ROW
    },
    open: |_, _| open(vec![op(LOAD, 0, 0, NUMBER), op(IS, 0, 1, libc::SYS_getppid as u32), ALLOW, ALLOW]),
};

/// Reads an argument, so the filter runs at each call.
pub(crate) static BY_ARGUMENT: Mechanism = Mechanism {
    meta: &Meta {
        id: "syscall/getppid-filter-run",
        what: "getppid under a seccomp filter that runs at each call",
        least_passes: Servant::LEAST_PASSES,
        ..ROW
    },
    open: |_, _| open(vec![op(LOAD, 0, 0, ARGUMENT), op(IS, 1, 0, 0x7fff_0001), ALLOW, ALLOW]),
};

/// A thread that calls getppid under the filter.
pub(crate) fn open(filter: Vec<libc::sock_filter>) -> Opened {
    let asked = ProbeAsked { seccomp: Some("filter".into()), ..ProbeAsked::default() };
    calls(Facts::of_probe(asked, ProbeFound::default()), Some(filter))
}

/// The same thread without a filter.
pub(crate) fn plain() -> Opened {
    calls(Facts::default(), None)
}

fn calls(facts: Facts, filter: Option<Vec<libc::sock_filter>>) -> Opened {
    let servant = Servant::open(facts, move || {
        if let Some(filter) = filter {
            install(&filter, 0)?;
        }
        // SAFETY: getppid has no arguments and changes nothing.
        let parent = unsafe { libc::getppid() } as isize;
        // The argument is one that the filters do not look for.
        // SAFETY: as above.
        let call = move |_| u64::from(unsafe { raw::call2(libc::SYS_getppid, 0, 0) } == parent);
        Ok(move |passes: u64| (0..passes).map(call).sum())
    })?;
    Ok(Box::new(servant))
}

/// Installs the filter on the calling thread; the descriptor that the flags ask for.
pub(crate) fn install(
    filter: &[libc::sock_filter],
    flags: libc::c_ulong,
) -> Result<Option<OwnedFd>, Refusal> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    let installed = give_up_privileges().and_then(|()| {
        let mode = libc::SECCOMP_SET_MODE_FILTER;
        // SAFETY: the program is valid for its length, and the kernel only reads it. It binds the calling thread only.
        match unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &program) } {
            0 => Ok(None),
            // SAFETY: the descriptor is new and nobody else's.
            listener @ 1.. => Ok(Some(unsafe { OwnedFd::from_raw_fd(listener as i32) })),
            _ => Err(io::Error::last_os_error()),
        }
    });
    installed.map_err(|error| {
        Refusal::skip(
            format!("a seccomp filter cannot be installed: {error}"),
            "a kernel with CONFIG_SECCOMP_FILTER, outside a sandbox that refuses further filters",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_measure::{Probe, Site};

    /// The seccomp mode of the calling thread, as the kernel prints it.
    fn own_mode() -> String {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        status.lines().find(|line| line.starts_with("Seccomp:")).unwrap().into()
    }

    #[test]
    fn the_filter_binds_the_probes_thread_only() {
        let before = own_mode();
        for probe in [&BY_NUMBER, &BY_ARGUMENT] {
            let mut open = match probe.open(&Site { cpu: 0, peer: None }) {
                Ok(open) => open,
                Err(Refusal::Skip { .. }) => continue,
                Err(Refusal::Failed(why)) => panic!("{why}"),
            };
            open.cross(100).unwrap();
            let mut counts = [None];
            open.prove(&mut counts).unwrap();
            assert_eq!(counts, [Some(100)], "{}", probe.meta.id);
            assert_eq!(own_mode(), before);
        }
    }
}
