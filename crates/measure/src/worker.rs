//! The worker's side of [`Remote`](crate::remote::Remote): requests in, replies out, a line of JSON each.

use crate::bench::{Bench, Lost, Reply, Request};
use crate::clock::{Counter, Os, Source};
use crate::local::Local;
use crate::placement;
use crate::probe::{Probe, Site};
use std::{
    io::{self, BufRead, Write},
    thread,
};
use tollgate_supervise::{end_first, end_with_parent};

/// How many threads a worker has when it measures.
///
/// In a process with several threads, each system call that takes a descriptor counts the use of the file
/// atomically, which costs more. What one probe has started must not change what another measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// One. Only for probes that start none.
    One,
    /// Always several: a second one never runs.
    Several,
}

/// Pins this thread, then answers requests until the input ends. When it cannot be pinned, that is the
/// only answer: what an unpinned thread measures would be wrong.
///
/// A worker that was started without a guard ends with the process `parent`.
///
/// # Errors
/// A parent that is gone, or a broken line in either direction.
pub fn serve(
    probes: &[&dyn Probe],
    site: Site,
    source: Source,
    threads: Threads,
    parent: u32,
) -> io::Result<()> {
    end_first();
    end_with_parent(parent)?;
    if let Err(error) = placement::pin(site.cpu) {
        // Exiting early would race with the first request.
        let reason = unpinned(&error);
        return answer(|_| Ok(Reply::Unusable { reason: reason.clone() }));
    }
    if threads == Threads::Several {
        be_threaded();
    }
    match source {
        Source::Counter => {
            let mut bench = Local::new(Counter, probes, site);
            answer(|request| bench.ask(request))
        }
        Source::Os => {
            let mut bench = Local::new(Os, probes, site);
            answer(|request| bench.ask(request))
        }
    }
}

/// The consequence of a failed pin, and what to do.
pub fn unpinned(error: &io::Error) -> String {
    format!(
        "{error}; nothing is measured without a pin: choose another CPU with --cpu, run outside the sandbox (a \
         seccomp filter, say) that refuses sched_setaffinity, or start it on one CPU from outside (taskset -c N, \
         docker run --cpuset-cpus=N)"
    )
}

/// Makes this a process of more than one thread, for good. Where no thread can be made, no probe has any either.
fn be_threaded() {
    // SAFETY: sigset_t is plain data, which the calls fill.
    let before = unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        before
    };
    let asleep = || {
        loop {
            thread::park();
        }
    };
    let _ = thread::Builder::new().name("asleep".into()).stack_size(64 << 10).spawn(asleep);
    // SAFETY: the mask is what the kernel gave.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
}

fn answer(mut ask: impl FnMut(&Request) -> Result<Reply, Lost>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let reply = ask(&request).map_err(io::Error::other)?;
        let mut text = serde_json::to_vec(&reply)?;
        text.push(b'\n');
        out.write_all(&text)?;
        out.flush()?;
    }
    Ok(())
}
