//! `getppid` under a seccomp filter. A filter binds its thread for good, so a thread of the probe makes the calls.
//! The sampler subtracts the cost of asking that thread as the empty batch.

use crate::mechanism::{Mechanism, Opened};
use crate::syscall::{ROW, raw};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::{io, mem};
use tollgate_measure::{Crossing, Facts, Meta, Refusal};
use tollgate_record::family::{ProbeAsked, ProbeFound};

/// One instruction of a filter (linux/filter.h).
const fn op(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const IS: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const ALLOW: libc::sock_filter = op(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW);
/// Offsets in `struct seccomp_data`: the number, the first argument's low half.
const NUMBER: u32 = 0;
const ARGUMENT: u32 = 16;

/// Allows by the number: the kernel computes the answer once and caches it (since Linux 5.11).
pub(crate) static BY_NUMBER: Mechanism = Mechanism {
    meta: &Meta {
        id: "syscall/getppid-filtered",
        what: "getppid under a seccomp filter that allows it by its number",
        ..ROW
    },
    open: |_, _| {
        open(const { &[op(LOAD, 0, 0, NUMBER), op(IS, 0, 1, libc::SYS_getppid as u32), ALLOW, ALLOW] })
    },
};

/// Reads an argument, so the filter runs at each call.
pub(crate) static BY_ARGUMENT: Mechanism = Mechanism {
    meta: &Meta {
        id: "syscall/getppid-filter-run",
        what: "getppid under a seccomp filter that runs at each call",
        ..ROW
    },
    open: |_, _| open(const { &[op(LOAD, 0, 0, ARGUMENT), op(IS, 1, 0, 0x7fff_0001), ALLOW, ALLOW] }),
};

/// The thread's answer: how many calls returned the right result, or the error that refused the filter.
type Answer = Result<u64, i32>;

fn open(filter: &'static [libc::sock_filter]) -> Opened {
    let (orders, to_do) = channel();
    let (tell, answers) = channel();
    // The thread inherits the pin of the measuring thread.
    let run = move || serve(filter, &to_do, &tell);
    let made = thread::Builder::new().name("filtered".into()).stack_size(64 << 10).spawn(run);
    let thread = made.map_err(|error| crate::task::task_refusal("thread creation", &error))?;
    let mut open = FilteredThread { orders: Some(orders), answers, thread: Some(thread), right: 0 };
    open.ask(0)?;
    Ok(Box::new(open))
}

/// The thread: installs the filter, then makes calls until the channel is closed.
fn serve(filter: &[libc::sock_filter], to_do: &Receiver<u64>, tell: &Sender<Answer>) {
    let mut installed = None;
    while let Ok(passes) = to_do.recv() {
        let outcome = *installed.get_or_insert_with(|| install(filter));
        // SAFETY: getppid has no arguments and changes nothing.
        let parent = unsafe { libc::getppid() } as isize;
        let mut right = 0;
        if outcome.is_ok() {
            for _ in 0..passes {
                // SAFETY: as above.
                right += u64::from(unsafe { raw::call0(libc::SYS_getppid) } == parent);
            }
        }
        if tell.send(outcome.map(|()| right)).is_err() {
            return;
        }
    }
}

/// Installs the filter on the calling thread. The error is the system's number.
fn install(filter: &[libc::sock_filter]) -> Result<(), i32> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program is valid for its length, and the kernel only reads it. Both calls concern the
    // calling thread only.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &program) == 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)) }
}

struct FilteredThread {
    orders: Option<Sender<u64>>,
    answers: Receiver<Answer>,
    thread: Option<JoinHandle<()>>,
    right: u64,
}

impl FilteredThread {
    /// Asks the thread for these calls and sleeps until they are made.
    fn ask(&mut self, passes: u64) -> Result<(), Refusal> {
        let gone = || Refusal::Failed("the thread under the filter is gone".into());
        self.orders.as_ref().and_then(|orders| orders.send(passes).ok()).ok_or_else(gone)?;
        match self.answers.recv() {
            Ok(Ok(right)) => {
                self.right += right;
                Ok(())
            }
            Ok(Err(errno)) => Err(Refusal::skip(
                format!("a seccomp filter cannot be installed: {}", io::Error::from_raw_os_error(errno)),
                "a kernel with CONFIG_SECCOMP_FILTER, outside a sandbox that refuses further filters",
            )),
            Err(_) => Err(gone()),
        }
    }
}

impl Drop for FilteredThread {
    fn drop(&mut self) {
        drop(self.orders.take());
        // A thread that panicked has already been reported by the panic itself.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Crossing for FilteredThread {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        self.ask(passes)
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        counts[0] = Some(mem::take(&mut self.right));
        Ok(())
    }

    fn facts(&self) -> Facts {
        let asked = ProbeAsked { seccomp: Some("filter".into()), ..ProbeAsked::default() };
        Facts::of_probe(asked, ProbeFound::default())
    }
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
