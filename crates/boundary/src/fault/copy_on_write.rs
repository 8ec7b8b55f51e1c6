//! The write to a page that a fork has shared: copied while the child lives, made writable again after its end.

use super::kind::{Counted, MINOR, Pages, TOUCH, write_each};
use crate::map::Map;
use crate::mechanism::{Mechanism, Opened};
use crate::task::process;
use tollgate_measure::{Meta, Refusal};

/// Pages that one fork shares.
const PAGES: usize = 512;

struct Common {
    map: Map,
    /// Whether the child lives while the parent writes.
    sharer: bool,
    child: Option<libc::pid_t>,
    /// The first page that has not been written to since the fork.
    next: usize,
    /// The first page of the current batch.
    first: usize,
}

impl Common {
    /// Takes every page back and forks.
    fn fork(&mut self) -> Result<(), Refusal> {
        self.end_child();
        // SAFETY: the whole mapping is writable.
        unsafe { write_each(self.map.page(0), self.map.page_bytes(), PAGES) };
        let sharer = self.sharer;
        let live = || {
            if sharer {
                loop {
                    // SAFETY: no arguments. Every signal that can be blocked is.
                    unsafe { libc::pause() };
                }
            }
        };
        // SAFETY: the child makes one system call over and over.
        let child = unsafe { process::fork(&[libc::SIGCHLD], [None, None], live) };
        self.child = Some(child.map_err(|error| crate::task::task_refusal("fork", &error))?);
        if !sharer && let Some(child) = self.child.take() {
            process::reap(child);
        }
        self.next = 0;
        Ok(())
    }

    fn end_child(&mut self) {
        if let Some(child) = self.child.take() {
            process::kill(child);
            process::reap(child);
        }
    }
}

impl Drop for Common {
    fn drop(&mut self) {
        self.end_child();
    }
}

impl Pages for Common {
    fn arm(&mut self, passes: usize) -> Result<(), Refusal> {
        // One fork serves several batches. Other probes may have forked since; that shares pages again but leaves
        // these as they are.
        if self.next + passes > PAGES {
            self.fork()?;
        }
        self.first = self.next;
        self.next += passes;
        Ok(())
    }

    fn touch(&mut self, passes: usize) -> Result<(), Refusal> {
        // SAFETY: arm has left at least `passes` pages from `first` on, all writable.
        unsafe {
            write_each(self.map.page(self.first), self.map.page_bytes(), passes.min(PAGES - self.first))
        };
        Ok(())
    }

    fn most(&self) -> usize {
        PAGES
    }
}

fn open(sharer: bool, meta: &'static Meta) -> Opened {
    let map = Map::private(PAGES)?;
    map.small_pages()?;
    Counted::open(Common { map, sharer, child: None, next: PAGES, first: 0 }, meta.proof)
}

pub(crate) static SHARED: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/copy-on-write",
        what: "write to a page that a child still shares: a page is found, copied and mapped",
        proof: &[MINOR],
        ..TOUCH
    },
    open: |meta, _| open(true, meta),
};

pub(crate) static ALONE: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/copy-on-write-alone",
        what: "write to a page that a child shared until it ended: the page is made writable again",
        proof: &[MINOR],
        ..TOUCH
    },
    open: |meta, _| open(false, meta),
};
