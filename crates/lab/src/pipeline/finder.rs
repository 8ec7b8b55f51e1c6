//! Finds a place in the stream of passages while a program runs, and keeps those around it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use tollgate_cores::{Flush, Passage, Stage};
use tollgate_riscv::{Observer, Trap};

/// Passages around a place, and where among them it is.
pub(crate) struct Found {
    pub(super) passages: Vec<Passage>,
    pub(super) event: usize,
}

/// Passages, kept while they may be wanted.
#[derive(Default)]
pub(crate) struct Finder {
    kept: VecDeque<Passage>,
    /// How many passages to keep before the place, and how many to wait for after it.
    before: usize,
    after: usize,
    /// The address to arrive at, for [`Place::Symbol`].
    target: Option<u64>,
    place: Option<Place>,
    /// Which one of its kind, from 1.
    nth: u64,
    pub(super) seen: u64,
    /// Addresses of handlers that are about to begin, and whether an interrupt leads there.
    pub(crate) expected: VecDeque<(u64, bool)>,
    /// The event's sequence number and the number of passages since.
    found: Option<(u64, usize)>,
    /// Whether the previous passage was squashed by a branch.
    in_branch: bool,
    pub(crate) done: bool,
}

/// The kinds of places.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Trap,
    Interrupt,
    Branch,
    Symbol,
}

impl Finder {
    /// For the `nth` of its kind; `target` is the address of a [`Place::Symbol`].
    pub(crate) fn new(place: Place, target: Option<u64>, nth: u64, before: usize, after: usize) -> Self {
        Self { place: Some(place), target, nth, before, after, ..Self::default() }
    }

    /// The passages around the place, `before` of them before it, and at most `count` in all.
    pub(crate) fn around(&mut self, before: usize, count: usize) -> Option<Found> {
        let (sequence, _) = self.found?;
        let kept: Vec<Passage> = std::mem::take(&mut self.kept).into();
        let at = kept.iter().position(|p| p.sequence == sequence).unwrap_or(0);
        let first = at.saturating_sub(before);
        let passages = kept.into_iter().skip(first).take(count.max(2)).collect();
        Some(Found { passages, event: at - first })
    }

    pub(crate) fn take(&mut self, passage: Passage) {
        if self.done {
            return;
        }
        let retired = passage.squashed.is_none();
        let mut event = None;
        let before = || last_real(&self.kept);
        if retired
            && let Some(&(handler, interrupt)) = self.expected.front()
            && passage.pc == handler
        {
            let wanted = if interrupt { Place::Interrupt } else { Place::Trap };
            if self.place == Some(wanted) {
                event = before();
            }
        }
        let in_branch = passage.squashed == Some(Flush::Branch);
        if self.place == Some(Place::Branch) && in_branch && !self.in_branch {
            event = before();
        }
        if self.target == Some(passage.pc) && (retired || is_trapping(&passage, self.kept.back())) {
            event = Some(passage.sequence);
        }
        if retired && self.expected.front().is_some_and(|e| e.0 == passage.pc) {
            self.expected.pop_front();
        }
        self.in_branch = in_branch;
        self.kept.push_back(passage);
        if let Some((_, after)) = &mut self.found {
            *after += 1;
            self.done = *after >= self.after;
            return;
        }
        if let Some(sequence) = event {
            self.seen += 1;
            if self.seen == self.nth {
                let since = self.kept.iter().filter(|p| p.sequence > sequence).count();
                self.found = Some((sequence, since));
            }
        }
        let room = self.before + 64;
        while self.found.is_none() && self.kept.len() > room {
            self.kept.pop_front();
        }
    }
}

/// Whether it is the instruction that raised an exception rather than one fetched after it.
pub fn is_trapping(passage: &Passage, before: Option<&Passage>) -> bool {
    let behind = before.is_some_and(|before| {
        before.squashed == Some(Flush::Trap) && matches!(passage.pc.wrapping_sub(before.pc), 2 | 4)
    });
    // An instruction that traps reaches write-back; one behind a jump on a wrong path does not.
    passage.squashed == Some(Flush::Trap) && !behind && passage.starts[Stage::WriteBack as usize].is_some()
}

/// The last of the passages that retired, or trapped.
fn last_real(passages: &VecDeque<Passage>) -> Option<u64> {
    let at = |i: usize| passages.get(i);
    let real = |i: &usize| {
        at(*i).is_some_and(|p| p.squashed.is_none() || is_trapping(p, i.checked_sub(1).and_then(at)))
    };
    let i = (0..passages.len()).rev().find(real)?;
    at(i).map(|passage| passage.sequence)
}

/// Reports to the finder which handlers begin.
pub(super) struct Handlers(pub(super) Rc<RefCell<Finder>>);

impl Observer for Handlers {
    const TRAP: bool = true;

    fn trap(&mut self, trap: &Trap) {
        self.0.borrow_mut().expected.push_back((trap.handler, trap.cause.is_interrupt()));
    }
}
