//! Context switches, counted by the kernel for each task.
//!
//! Voluntary and involuntary ones together: preemption by a wake-up switches a task out just as sleep does.

use std::{
    cell::{Cell, RefCell},
    fs::{self, File},
    mem,
    os::unix::fs::FileExt,
    rc::Rc,
};

/// Counts the switches of the measuring thread while it measures, and those of its peers.
///
/// The measuring thread also crosses other boundaries between two batches, so its own switches count
/// only from [`Switches::begin`] until the next time that any counter of the thread begins, pauses or
/// counts. The peers do nothing but the crossing, so theirs always count.
pub struct Switches {
    own: Rc<Window>,
    /// `None` when this system does not show them.
    peers: Option<Vec<File>>,
    /// The peers' counters at the last reading.
    base: u64,
    /// Switches of peers that were not yet returned.
    counted: u64,
}

/// When the measuring thread's switches count.
#[derive(Default)]
struct Window {
    /// `None` if this system does not report it.
    start: Cell<Option<u64>>,
    total: Cell<u64>,
    /// Whether some were missed.
    unknown: Cell<bool>,
}

thread_local! {
    /// The window that is open on this thread.
    static OPEN: RefCell<Option<Rc<Window>>> = const { RefCell::new(None) };
}

impl Switches {
    /// A counter for the calling thread and for the peers with these process and thread numbers.
    pub fn new(peers: &[(libc::pid_t, libc::pid_t)]) -> Self {
        let mut switches = Self { own: Rc::default(), peers: open(peers), base: 0, counted: 0 };
        switches.skip();
        switches
    }

    /// From here on the calling thread's switches count.
    pub fn begin(&self) {
        close_window();
        self.own.start.set(own_switches());
        OPEN.with_borrow_mut(|open| *open = Some(Rc::clone(&self.own)));
    }

    /// Leaves out the switches of the peers since [`Switches::pause`].
    pub fn skip(&mut self) {
        let counted = self.counted;
        self.read_peers();
        self.counted = counted;
    }

    /// The calling thread's switches no longer count; those of the peers are read.
    pub fn pause(&mut self) {
        close_window();
        self.read_peers();
    }

    /// The switches counted since the last call; `None` when this system does not show the peers'.
    pub fn count(&mut self) -> Option<u64> {
        self.pause();
        let (peers, own) = (mem::take(&mut self.counted), self.own.total.take());
        (self.peers.is_some() && !self.own.unknown.get()).then_some(peers + own)
    }

    /// Adds the peers' switches since the last reading.
    fn read_peers(&mut self) {
        let Some(peers) = &self.peers else { return };
        match peers.iter().map(switches_of).sum::<Option<u64>>() {
            Some(now) => {
                self.counted += now.saturating_sub(self.base);
                self.base = now;
            }
            None => self.peers = None,
        }
    }
}

/// Ends the open window of the calling thread, of whichever counter.
fn close_window() {
    if let Some(window) = OPEN.take() {
        match (window.start.get(), own_switches()) {
            (Some(start), Some(now)) => window.total.set(window.total.get() + now.saturating_sub(start)),
            _ => window.unknown.set(true),
        }
    }
}

/// Switches of the calling thread since it began.
/// Async-signal-safe.
pub(super) fn own_switches() -> Option<u64> {
    // SAFETY: rusage is plain data, which the call fills.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: the structure is valid.
    let done = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) } == 0;
    done.then_some((usage.ru_nvcsw + usage.ru_nivcsw) as u64)
}

/// The peers' status files, kept open so that reading is cheap.
fn open(peers: &[(libc::pid_t, libc::pid_t)]) -> Option<Vec<File>> {
    if peers.is_empty() {
        return Some(Vec::new());
    }
    // A /proc that was mounted for another PID namespace numbers tasks differently.
    // SAFETY: no arguments.
    let own = unsafe { libc::getpid() };
    if fs::read_link("/proc/self").ok()?.to_str()? != own.to_string() {
        return None;
    }
    let status = |&(process, thread)| File::open(format!("/proc/{process}/task/{thread}/status")).ok();
    peers.iter().map(status).collect()
}

fn switches_of(status: &File) -> Option<u64> {
    let mut text = [0; 8192];
    let len = status.read_at(&mut text, 0).ok()?;
    parse(std::str::from_utf8(&text[..len]).ok()?)
}

/// The sum of the two counters in a task's status.
fn parse(status: &str) -> Option<u64> {
    let field = |name| status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    Some(field("voluntary_ctxt_switches:")? + field("nonvoluntary_ctxt_switches:")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_counters_are_needed() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(parse(status), Some(15));
        assert_eq!(parse("voluntary_ctxt_switches:\t12\n"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn one_window_at_a_time() {
        let (mut one, mut other) = (Switches::new(&[]), Switches::new(&[]));
        one.begin();
        other.begin();
        std::thread::sleep(std::time::Duration::from_millis(1));
        // The sleep fell into the other's window only; preemption may add to either.
        let (one, other) = (one.count(), other.count());
        if let (Some(_), Some(other)) = (one, other) {
            assert!(other >= 1);
        }
    }
}
