//! Message queues: POSIX and System V.

use super::descriptor::{Ports, Wire, two_threads};
use crate::task::media::{End, Ends, Give, Medium, Passed, Take, errno};
use crate::task::{Tasks, refusal};
use std::ffi::CString;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{io, ptr};
use tollgate_measure::Refusal;

/// Eight bytes through a POSIX message queue, which has room for one.
pub(super) enum Posix {}

impl Wire for Posix {
    fn pair() -> Result<[Ports; 2], Refusal> {
        Ok(Ports::of_objects(posix_queue()?, posix_queue()?))
    }

    #[inline]
    fn put(output: RawFd) -> Passed {
        let token = [0_u8; 8];
        // SAFETY: eight bytes are read.
        match unsafe { libc::mq_send(output, token.as_ptr().cast(), token.len(), 0) } {
            0 => Ok(()),
            _ => Err(errno()),
        }
    }

    #[inline]
    fn get(input: RawFd) -> Passed {
        let mut token = [0_u8; 8];
        // SAFETY: the buffer has the size of a message of the queue; the priority is not asked for.
        match unsafe { libc::mq_receive(input, token.as_mut_ptr().cast(), token.len(), ptr::null_mut()) } {
            8 => Ok(()),
            0.. => Err(libc::EBADMSG),
            _ => Err(errno()),
        }
    }
}

/// A queue without a name: it ends with its descriptor.
fn posix_queue() -> Result<OwnedFd, Refusal> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = CString::new(format!("/tollgate-{}-{number}", std::process::id()))
        .map_err(|error| Refusal::Failed(error.to_string()))?;
    // SAFETY: attributes are plain data.
    let mut attributes: libc::mq_attr = unsafe { std::mem::zeroed() };
    (attributes.mq_maxmsg, attributes.mq_msgsize) = (1, 8);
    let how = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    // SAFETY: name and attributes live; the mode is that of the owner alone.
    let queue = unsafe { libc::mq_open(name.as_ptr(), how, 0o600 as libc::c_uint, &raw const attributes) };
    if queue == -1 {
        let error = io::Error::last_os_error();
        return Err(match error.raw_os_error() {
            Some(libc::EMFILE) => Refusal::skip(
                "no further POSIX message queue fits into this user's limit (RLIMIT_MSGQUEUE)",
                "raise the limit with `ulimit -q`",
            ),
            Some(libc::ENOSPC) => Refusal::skip(
                "the system has as many POSIX message queues as it may (fs.mqueue.queues_max)",
                "sysctl fs.mqueue.queues_max=512",
            ),
            Some(libc::ENOSYS) => Refusal::skip(
                "there are no POSIX message queues here: the kernel is built without them, or a filter hides them",
                "a kernel with CONFIG_POSIX_MQUEUE, and no filter that hides mq_open",
            ),
            _ => refusal("mq_open", &error),
        });
    }
    // SAFETY: a name that we made; the descriptor is new and nobody else's, on Linux a file descriptor.
    unsafe {
        libc::mq_unlink(name.as_ptr());
        Ok(OwnedFd::from_raw_fd(queue))
    }
}

/// Eight bytes through a System V message queue.
pub(super) enum SystemV {}

/// A queue, removed when both of its users are gone. The system keeps it if the process is killed.
struct Queue(libc::c_int);

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: our own queue; nothing is written.
        unsafe { libc::msgctl(self.0, libc::IPC_RMID, ptr::null_mut()) };
    }
}

pub(super) struct QueueEnd(Arc<Queue>);

/// A message of System V begins with its type.
#[repr(C)]
struct Message {
    kind: libc::c_long,
    token: [u8; 8],
}

impl Medium for SystemV {
    type Give = QueueEnd;
    type Take = QueueEnd;

    fn ring(len: usize, tasks: Tasks) -> Result<Ends<Self>, Refusal> {
        two_threads(len, tasks)?;
        let (there, back) = (Arc::new(system_v_queue()?), Arc::new(system_v_queue()?));
        let end = |take: &Arc<Queue>, give: &Arc<Queue>| End {
            take: QueueEnd(Arc::clone(take)),
            give: QueueEnd(Arc::clone(give)),
        };
        Ok(Box::new([end(&back, &there), end(&there, &back)].map(Ok).into_iter()))
    }
}

fn system_v_queue() -> Result<Queue, Refusal> {
    // SAFETY: integers only.
    match unsafe { libc::msgget(libc::IPC_PRIVATE, 0o600) } {
        -1 => {
            let error = io::Error::last_os_error();
            Err(match error.raw_os_error() {
                Some(libc::ENOSPC) => Refusal::skip(
                    "the system has as many System V message queues as it may (kernel.msgmni)",
                    "remove queues that nobody uses (ipcs -q, ipcrm -q), or sysctl kernel.msgmni=32000",
                ),
                Some(libc::ENOSYS) => Refusal::skip(
                    "there are no System V message queues here: the kernel is built without them, or a filter hides them",
                    "a kernel with CONFIG_SYSVIPC, and no filter that hides msgget",
                ),
                _ => refusal("msgget", &error),
            })
        }
        queue => Ok(Queue(queue)),
    }
}

impl Give for QueueEnd {
    #[inline]
    fn give(&mut self) -> Passed {
        let message = Message { kind: 1, token: [0; 8] };
        // SAFETY: a message of eight bytes after its type is read.
        match unsafe { libc::msgsnd(self.0.0, (&raw const message).cast(), 8, 0) } {
            0 => Ok(()),
            _ => Err(errno()),
        }
    }
}

impl Take for QueueEnd {
    #[inline]
    fn take(&mut self) -> Passed {
        let mut message = Message { kind: 0, token: [0; 8] };
        // SAFETY: there is room for eight bytes after the type.
        match unsafe { libc::msgrcv(self.0.0, (&raw mut message).cast(), 8, 0, 0) } {
            8 => Ok(()),
            0.. => Err(libc::EBADMSG),
            _ => Err(errno()),
        }
    }
}
