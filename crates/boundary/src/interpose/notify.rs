//! `getppid` that another thread answers: seccomp's user notification.

use super::taxed::taxed;
use crate::crossing::filtered::{ALLOW, IS, LOAD, NUMBER, answer, install, op};
use crate::mechanism::{Mechanism, Opened};
use crate::servant::Servant;
use crate::syscall::{GETPPID, ROW, raw};
use crate::task::task_refusal;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use tollgate_measure::{Claim, Crossing, Facts, Meta, Probe, Refusal};

pub(super) static NOTIFY: Mechanism = Mechanism {
    meta: &Meta {
        id: "interpose/seccomp-notify",
        what: "getppid answered by another thread on the CPU: seccomp user notification",
        proof: &[Claim::exact("right-answers-per-syscall"), Claim::exact("answers-per-call")],
        ..ROW
    },
    open: |_, site| taxed(open(), GETPPID.open(site), [2, 1]),
};

/// The supervisor's answer: no process has this number.
const ANSWER: i64 = 0x7011_6a7e;
/// The argument of the call after which the supervisor ends.
const LAST: u64 = 0x656e_6421;

// linux/seccomp.h; the numbers are those of the architectures with the generic encoding of ioctls.
const RECEIVE: libc::c_ulong = 0xc050_2100;
const SEND: libc::c_ulong = 0xc018_2101;

/// `struct seccomp_notif`.
#[repr(C)]
#[derive(Default)]
struct Notification {
    id: u64,
    pid: u32,
    flags: u32,
    number: i32,
    architecture: u32,
    instruction: u64,
    arguments: [u64; 6],
}

/// `struct seccomp_notif_resp`.
#[repr(C)]
struct Response {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

fn open() -> Opened {
    let answered = Arc::<AtomicU64>::default();
    let (hand_over, listener) = channel::<OwnedFd>();
    let count = Arc::clone(&answered);
    // Before the filter is installed, so that it does not bind the supervisor.
    let made = thread::Builder::new()
        .name("supervisor".into())
        .stack_size(64 << 10)
        .spawn(move || supervise(&listener, &count));
    let supervisor = made.map_err(|error| task_refusal("thread creation", &error))?;
    let servant = Servant::open(Facts::default(), move || {
        let filter = [
            op(LOAD, 0, 0, NUMBER),
            op(IS, 0, 1, libc::SYS_getppid as u32),
            answer(libc::SECCOMP_RET_USER_NOTIF),
            ALLOW,
        ];
        let listener = install(&filter, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)?;
        let listener = listener.ok_or_else(|| Refusal::Failed("the kernel gave no listener".into()))?;
        hand_over.send(listener).map_err(|_| Refusal::Failed("the supervisor is gone".into()))?;
        let end = End;
        Ok(move |passes: u64| {
            let _ = &end;
            // SAFETY: the supervisor answers the call; it changes nothing.
            let call = |_| u64::from(unsafe { raw::call2(libc::SYS_getppid, 0, 0) } == ANSWER as isize);
            (0..passes).map(call).sum()
        })
    });
    Ok(Box::new(Supervised { servant: Some(servant?), supervisor: Some(supervisor), answered, proved: 0 }))
}

/// Ends the supervisor when the thread under the filter does.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        // SAFETY: the supervisor answers the call; it changes nothing.
        unsafe { raw::call2(libc::SYS_getppid, LAST as usize, 0) };
    }
}

/// Answers calls until the last. Counts those that were made within batches.
fn supervise(listener: &Receiver<OwnedFd>, answered: &AtomicU64) {
    let Ok(listener) = listener.recv() else { return };
    loop {
        let mut call = Notification::default();
        // SAFETY: the kernel fills the structure, which has its size and is zeroed as it demands.
        if unsafe { libc::ioctl(listener.as_raw_fd(), RECEIVE as _, &mut call) } != 0 {
            match crate::task::media::errno() {
                // A signal, or a caller that was interrupted.
                libc::EINTR | libc::ENOENT => continue,
                // Closing the listener lets the calls fail.
                _ => return,
            }
        }
        let is_last = call.arguments[0] == LAST;
        answered.fetch_add(u64::from(!is_last), Ordering::Relaxed);
        let response = Response { id: call.id, value: ANSWER, error: 0, flags: 0 };
        // SAFETY: the kernel reads the structure. It fails if the caller is gone.
        unsafe { libc::ioctl(listener.as_raw_fd(), SEND as _, &response) };
        if is_last {
            return;
        }
    }
}

struct Supervised {
    servant: Option<Servant>,
    supervisor: Option<JoinHandle<()>>,
    answered: Arc<AtomicU64>,
    proved: u64,
}

impl Crossing for Supervised {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        let gone = || Refusal::Failed("the thread under the filter is gone".into());
        self.servant.as_mut().ok_or_else(gone)?.ask(passes)
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        if let Some(servant) = &mut self.servant {
            servant.prove(counts)?;
        }
        let answered = self.answered.load(Ordering::Relaxed);
        counts[1] = Some(answered - mem::replace(&mut self.proved, answered));
        Ok(())
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        drop(self.servant.take());
        // A thread that panicked has already been reported by the panic itself.
        let _ = self.supervisor.take().map(JoinHandle::join);
    }
}
