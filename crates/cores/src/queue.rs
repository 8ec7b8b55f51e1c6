//! The queue between a front end that runs ahead and the back end, while instructions are fetched that are not executed in
//! the end.

use std::collections::VecDeque;

use tollgate_riscv::Insn;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_requested_as_long_as_no_half_of_the_queue_is_full() {
        // Nothing issues: one instruction is decoded when the branch issues, at 20; two come with each word.
        let mut queue = Queue::new([].into_iter(), 8, 20, None);
        for word in 0..4 {
            assert_eq!(queue.room(word), word);
            assert!(queue.take(None, word + 2, 0) && queue.take(None, word + 2, 1));
        }
        // All eight are there at 6: nothing is requested from then on, and what was requested before has no place.
        assert_eq!(queue.room(5), 5);
        assert!(!queue.take(None, 6, 0));
        // One leaves; seven are one too many.
        assert!(queue.room(6) >= NEVER);
    }

    #[test]
    fn what_issues_makes_room() {
        // One a cycle, the first at 11.
        let mut issues = |_: Option<&Insn>, decode: i64| decode + 1;
        let mut queue = Queue::new([1, 2, 3, 4, 5, 6, 7, 8].into_iter(), 8, 10, Some(&mut issues));
        // Those that were there before leave from 1 to 8: six are left at 3.
        assert_eq!((queue.room(1), queue.room(3)), (3, 3));
        assert!(queue.take(None, 9, 0));
        // The next one is decoded when that issues.
        assert!(queue.take(None, 9, 1));
        assert_eq!(queue.used(10), 2);
        assert_eq!((queue.used(11), queue.used(12)), (1, 0));
    }
}
