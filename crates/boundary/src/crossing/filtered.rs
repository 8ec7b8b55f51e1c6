//! `getppid` under a seccomp filter. A filter binds the thread that took it on, for good, so the calls are
//! made by a thread of the probe's own; what asking that thread costs is taken off as the empty batch.

use crate::syscall::raw;
use crate::task::OnCall;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use tollgate_measure::{Claim, Crossing, Meta, Placement, Probe, Refusal, Site};
use tollgate_record::Per;

/// `getppid` under a filter.
pub(crate) struct Filtered {
    meta: Meta,
    filter: &'static [libc::sock_filter],
}

static PROOF: [Claim; 1] = [Claim::exact("right_answers_per_syscall")];

const fn meta(id: &'static str, what: &'static str) -> Meta {
    Meta { id, what, per: Per::Syscall, crossings_per_pass: 1, placement: Placement::One, proof: &PROOF }
}

/// One instruction of a filter (linux/filter.h).
const fn op(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
const IS: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
/// Offsets in `struct seccomp_data`: the number, the first argument's low half.
const NUMBER: u32 = 0;
const ARGUMENT: u32 = 16;

/// Allows by the number: the kernel works that out once and keeps it (since Linux 5.11).
pub(crate) static BY_NUMBER: Filtered = Filtered {
    meta: meta("syscall/getppid-filtered", "getppid under a seccomp filter that allows it by its number"),
    filter: &[
        op(LOAD, 0, 0, NUMBER),
        op(IS, 0, 1, libc::SYS_getppid as u32),
        op(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
        op(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ],
};

/// Looks at an argument, so that it must run each time.
pub(crate) static BY_ARGUMENT: Filtered = Filtered {
    meta: meta("syscall/getppid-filter-run", "getppid under a seccomp filter that runs at each call"),
    filter: &[
        op(LOAD, 0, 0, ARGUMENT),
        op(IS, 1, 0, 0x7fff_0001),
        op(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
        op(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ],
};

/// What the thread shares with the probe.
#[derive(Default)]
struct Shared {
    right: AtomicU64,
    /// The error that the filter was refused with, negative once it is in force.
    errno: AtomicI32,
}

const IN_FORCE: i32 = -1;

impl Probe for Filtered {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn open(&self, site: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        let shared = Arc::new(Shared::default());
        let (theirs, filter) = (Arc::clone(&shared), self.filter);
        let installed = Cell::new(false);
        let thread = OnCall::open(site.cpu, move |passes| {
            if !installed.replace(true) {
                theirs.errno.store(install(filter).err().unwrap_or(IN_FORCE), Ordering::Release);
            }
            let mut right = 0;
            // SAFETY: getppid has no arguments and changes nothing.
            let parent = unsafe { libc::getppid() } as isize;
            for _ in 0..passes {
                // SAFETY: as above.
                right += u64::from(unsafe { raw::call0(libc::SYS_getppid) } == parent);
            }
            theirs.right.fetch_add(right, Ordering::Relaxed);
        })?;
        let open = Open { thread, shared };
        open.ask(0);
        match open.shared.errno.load(Ordering::Acquire) {
            IN_FORCE => Ok(Box::new(open)),
            errno => Err(Refusal::skip(
                format!("no seccomp filter can be taken on: {}", std::io::Error::from_raw_os_error(errno)),
                "a kernel with CONFIG_SECCOMP_FILTER, outside a sandbox that refuses further filters",
            )),
        }
    }
}

/// Puts the filter on the calling thread. Gives the system's error number.
fn install(filter: &[libc::sock_filter]) -> Result<(), i32> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program is valid for its length, and the kernel only reads it. Both calls concern the
    // calling thread only.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &program) == 0
    };
    if done { Ok(()) } else { Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)) }
}

struct Open {
    thread: OnCall,
    shared: Arc<Shared>,
}

impl Open {
    fn ask(&self, passes: u64) {
        self.thread.call(passes);
        self.thread.wait_idle();
    }
}

impl Crossing for Open {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        self.ask(passes);
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        counts[0] = Some(self.shared.right.swap(0, Ordering::Relaxed));
        Ok(())
    }

    fn params(&self) -> Vec<(&'static str, String)> {
        vec![("seccomp", "filter".into())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A CPU that may be used.
    fn cpu() -> usize {
        tollgate_measure::placement::allowed().unwrap()[0]
    }

    /// Mode of seccomp of the calling thread, in the kernel's words.
    fn own_mode() -> String {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        status.lines().find(|line| line.starts_with("Seccomp:")).unwrap().into()
    }

    #[test]
    fn the_filter_binds_the_probes_thread_only() {
        let before = own_mode();
        for probe in [&BY_NUMBER, &BY_ARGUMENT] {
            let mut open = match probe.open(&Site { cpu: cpu(), peer: None }) {
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
