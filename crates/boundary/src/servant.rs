//! A thread that makes a probe's calls under something that cannot be removed from a thread, such as a seccomp filter.
//! The sampler subtracts the cost of asking that thread as the empty batch.

use crate::task::task_refusal;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::{io, mem};
use tollgate_measure::{Crossing, Facts, Refusal};

/// How many of the calls had the right result, or what refused the set-up.
type Answer = Result<u64, Refusal>;

/// The thread. Dropping it ends the thread and waits for it.
pub(crate) struct Servant {
    orders: Option<Sender<u64>>,
    answers: Receiver<Answer>,
    thread: Option<JoinHandle<()>>,
    right: u64,
    facts: Facts,
}

impl Servant {
    /// Passes of a batch at the least: asking the thread takes as long as forty system calls, and varies.
    pub(crate) const LEAST_PASSES: u32 = 1_024;

    /// Starts a thread, which inherits the pin of the calling one, and runs `bind` on it. What that returns makes so many
    /// calls at each order, and returns how many had the right result.
    pub(crate) fn open<F: FnMut(u64) -> u64>(
        facts: Facts,
        bind: impl FnOnce() -> Result<F, Refusal> + Send + 'static,
    ) -> Result<Self, Refusal> {
        let (orders, to_do) = channel();
        let (tell, answers) = channel();
        let run = move || serve(bind, &to_do, &tell);
        let made = thread::Builder::new().name("bound".into()).stack_size(64 << 10).spawn(run);
        let thread = made.map_err(|error| task_refusal("thread creation", &error))?;
        let mut servant = Self { orders: Some(orders), answers, thread: Some(thread), right: 0, facts };
        servant.ask(0)?;
        Ok(servant)
    }

    /// Orders these calls and sleeps until they are made.
    pub(crate) fn ask(&mut self, passes: u64) -> Result<(), Refusal> {
        let gone = || Refusal::Failed("the thread that makes the calls is gone".into());
        self.orders.as_ref().and_then(|orders| orders.send(passes).ok()).ok_or_else(gone)?;
        self.right += self.answers.recv().map_err(|_| gone())??;
        Ok(())
    }
}

fn serve<F: FnMut(u64) -> u64>(
    bind: impl FnOnce() -> Result<F, Refusal>,
    to_do: &Receiver<u64>,
    tell: &Sender<Answer>,
) {
    let mut bound = bind();
    while let Ok(passes) = to_do.recv() {
        let answer = match &mut bound {
            Ok(calls) => Ok(calls(passes)),
            Err(refusal) => Err(refusal.clone()),
        };
        if tell.send(answer).is_err() {
            return;
        }
    }
}

impl Drop for Servant {
    fn drop(&mut self) {
        drop(self.orders.take());
        // A thread that panicked has already been reported by the panic itself.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Crossing for Servant {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        self.ask(passes)
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        counts[0] = Some(mem::take(&mut self.right));
        Ok(())
    }

    fn facts(&self) -> Facts {
        self.facts.clone()
    }
}

/// No further privileges for the calling thread, which an ordinary user must accept before it binds itself.
///
/// # Errors
/// The system's error.
pub(crate) fn give_up_privileges() -> io::Result<()> {
    // SAFETY: integers only; it concerns the calling thread.
    match unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
