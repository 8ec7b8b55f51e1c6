//! The worker's side of [`Remote`](crate::remote::Remote): requests in, replies out, a line of JSON each.

use crate::bench::{Bench, Lost, Reply, Request};
use crate::clock::{Counter, Os, Source};
use crate::local::Local;
use crate::placement;
use crate::probe::{Probe, Site};
use std::{
    io::{self, BufRead, BufReader, Read, Write},
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
        return answer(io::stdin(), io::stdout(), |_| Ok(Reply::Unusable { reason: reason.clone() }));
    }
    if threads == Threads::Several {
        be_threaded();
    }
    match source {
        Source::Counter => {
            let mut bench = Local::new(Counter, probes, site);
            answer(io::stdin(), io::stdout(), |request| bench.ask(request))
        }
        Source::Os => {
            let mut bench = Local::new(Os, probes, site);
            answer(io::stdin(), io::stdout(), |request| bench.ask(request))
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

/// Makes this a multi-threaded process. If no thread can be created, no probe has one either.
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

/// Of requests that came together the last one is answered for all: an answer wakes the waiting process, and on one CPU
/// that would
/// take the time of the next request.
fn answer(
    input: impl Read,
    mut output: impl Write,
    mut ask: impl FnMut(&Request) -> Result<Reply, Lost>,
) -> io::Result<()> {
    let (mut input, mut replies, mut line) = (BufReader::new(input), Vec::new(), String::new());
    while input.read_line(&mut line)? > 0 {
        let request: Request = serde_json::from_str(&line)?;
        let reply = ask(&request).map_err(io::Error::other)?;
        serde_json::to_writer(&mut replies, &reply)?;
        replies.push(b'\n');
        line.clear();
        if input.buffer().is_empty() {
            output.write_all(&replies)?;
            output.flush()?;
            replies.clear();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe of which each read returns one of these texts.
    struct Chunks(Vec<&'static str>);

    impl Read for Chunks {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let Some(chunk) = self.0.pop() else { return Ok(0) };
            to[..chunk.len()].copy_from_slice(chunk.as_bytes());
            Ok(chunk.len())
        }
    }

    /// Every text that was written at once.
    struct Written<'a>(&'a mut Vec<String>);

    impl Write for Written<'_> {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.push(String::from_utf8_lossy(text).into_owned());
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn requests_that_come_together_are_answered_together_and_in_order() {
        let mut written = Vec::new();
        let chunks =
            Chunks(vec!["robe\":3}}\n", "\"Moment\"\n{\"Close\":{\"p", "\"Core\"\n\"Yardsticks\"\n"]);
        let ask = |request: &Request| Ok(Reply::Failed { reason: format!("{request:?}") });
        answer(chunks, Written(&mut written), ask).unwrap();
        let reply = |reason: &str| format!("{{\"Failed\":{{\"reason\":\"{reason}\"}}}}\n");
        let both = reply("Core") + &reply("Yardsticks");
        assert_eq!(written, [both, reply("Moment") + &reply("Close { probe: 3 }")]);
    }
}
