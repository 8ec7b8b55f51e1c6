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

/// Pins this thread, then answers requests until the input ends. When it cannot be pinned, that is the
/// only answer: what an unpinned thread measures would be wrong.
///
/// The process asks the kernel to be killed when its parent dies, so that no worker outlives a
/// supervisor that was killed.
///
/// # Errors
/// A parent that is gone, or a broken line in either direction.
pub fn serve(probes: &[&dyn Probe], site: Site, source: Source, parent: u32) -> io::Result<()> {
    // SAFETY: PR_SET_PDEATHSIG takes a signal number and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    // SAFETY: no arguments. The parent may have died before the request took effect.
    if unsafe { libc::getppid() } as u32 != parent {
        return Err(io::Error::other("the process that started this worker is gone"));
    }
    if let Err(error) = placement::pin(site.cpu) {
        return answer(&mut Unpinned(unpinned(&error)));
    }
    be_threaded();
    match source {
        Source::Counter => answer(&mut Local::new(Counter, probes, site)),
        Source::Os => answer(&mut Local::new(Os, probes, site)),
    }
}

/// What answers in place of a bench that cannot be. It answers each request, because one who leaves
/// without having read may leave before he is asked.
struct Unpinned(String);

impl Bench for Unpinned {
    fn ask(&mut self, _: &Request) -> Result<Reply, Lost> {
        Ok(Reply::Unusable { reason: self.0.clone() })
    }

    fn restart(&mut self) -> Result<(), Lost> {
        Ok(())
    }

    fn elapsed_ns(&self) -> u64 {
        0
    }
}

/// What a failed pin means for the run.
pub fn unpinned(error: &io::Error) -> String {
    format!(
        "{error}; nothing is measured without a pin: choose another CPU with --cpu, run outside the sandbox (a \
         seccomp filter, say) that refuses sched_setaffinity, or start it on one CPU from outside (taskset -c N, \
         docker run --cpuset-cpus=N)"
    )
}

/// Makes this a process of more than one thread, for good.
///
/// What threads share is dearer than what one thread has alone: with several, each system call that takes
/// a descriptor counts the use of the file atomically. Whether the other probes of a run have made threads
/// must not decide that, so there is always one, which never runs. Where no thread may be made there are
/// those of no probe either.
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

fn answer(bench: &mut impl Bench) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let reply = bench.ask(&request).map_err(io::Error::other)?;
        let mut text = serde_json::to_vec(&reply)?;
        text.push(b'\n');
        out.write_all(&text)?;
        out.flush()?;
    }
    Ok(())
}
