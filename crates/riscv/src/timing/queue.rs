//! The queue between a front end that runs ahead and the back end, while instructions are fetched that are not executed in
//! the end.

use std::collections::VecDeque;

use crate::insn::Insn;

/// Later than all.
pub(super) const NEVER: i64 = i64::MAX / 2;

/// When an instruction issues, if it is known, that is decoded in a cycle.
pub(super) type Issues<'a> = &'a mut dyn FnMut(Option<&Insn>, i64) -> i64;

/// The queue.
pub(super) struct Queue<'a> {
    /// When each instruction came into the queue and leaves it, as far as that is not long ago.
    queued: VecDeque<(i64, i64)>,
    size: usize,
    /// When the last one issues.
    issue: i64,
    /// Nothing issues behind a branch that is not resolved.
    issues: Option<Issues<'a>>,
}

impl<'a> Queue<'a> {
    /// Of so many instructions, which leave it in these cycles; the last one issues in a cycle.
    pub(super) fn new(
        left: impl Iterator<Item = i64>,
        size: usize,
        issue: i64,
        issues: Option<Issues<'a>>,
    ) -> Self {
        Queue { queued: left.map(|at| (i64::MIN, at)).collect(), size, issue, issues }
    }

    /// Whether any of those that come can issue.
    #[inline(always)]
    pub(super) fn issues(&self) -> bool {
        self.issues.is_some()
    }

    /// One more that came before leaves it then.
    pub(super) fn leave(&mut self, at: i64) {
        self.queued.push_back((i64::MIN, at));
    }

    /// How many are in it in a cycle.
    fn used(&self, at: i64) -> usize {
        self.queued.iter().filter(|&&(came, leaves)| came < at && leaves >= at).count()
    }

    /// From when on another word is requested: the queue has two halves, and none of them may be full.
    pub(super) fn room(&self, from: i64) -> i64 {
        let mut at = from;
        while self.used(at) + 2 > self.size {
            let here = self.queued.iter().filter(|&&(came, leaves)| came < at && leaves >= at);
            at = here.map(|&(_, leaves)| leaves + 1).min().unwrap_or(NEVER);
        }
        at
    }

    /// An instruction comes behind so many of its word, if there is room for it.
    pub(super) fn take(&mut self, insn: Option<&Insn>, at: i64, of: usize) -> bool {
        if self.used(at) + of >= self.size {
            return false;
        }
        while self.queued.front().is_some_and(|&(_, leaves)| leaves < at - 2) {
            self.queued.pop_front();
        }
        let decode = (at + 1).max(self.issue);
        self.queued.push_back((at, decode));
        self.issue = self.issues.as_mut().map_or(NEVER, |issues| issues(insn, decode));
        true
    }
}
