//! Lines that the instruction cache takes while the pipe goes on, and when the front end finds them.

use super::pipe::Pipe;
use super::words::Fill;

/// A word that is in IF a cycle before the redirected fetch's request is looked up, one behind it is dropped.
pub(super) const LOOKED_UP: i64 = 2;

impl Pipe {
    /// When the next words would be in IF, the one with this number of them.
    pub(super) fn fetches(&self, words: u32, number: u32) -> i64 {
        let next = self.queue.as_ref().map_or(self.decode, |queue| queue.next(words));
        self.redirect.map_or(next, |r| next.max(r.at)) + i64::from(number)
    }

    /// How many words are in IF at most, behind those of the last instruction, early enough before the fetch is redirected to be
    /// looked up.
    pub(super) fn room(&self) -> u8 {
        let (Some(redirect), Some(queue)) = (self.redirect, &self.queue) else { return 0 };
        (redirect.at - LOOKED_UP - queue.fetch()).clamp(0, u8::MAX.into()) as u8
    }

    /// When the word behind the last one is seen in ID although there was no space to request it, if so.
    pub(super) fn is_full(&self) -> Option<i64> {
        let queue = self.queue.as_ref().filter(|queue| self.redirect.is_none() && queue.is_full())?;
        Some(queue.fetch() + 2)
    }

    /// The line that is being filled.
    #[inline(always)]
    pub(super) fn filling(&self) -> Option<u64> {
        self.fill.map(|fill| fill.line)
    }

    /// Whether a fetch then has to wait for a line that is being filled.
    pub(super) fn fills(&self, line: u64, fetch: i64) -> bool {
        self.fill.is_some_and(|fill| fill.line == line && fetch + 1 < fill.there)
    }

    /// When a miss of a word that is in IF then can be sent, if that is before the fetch is redirected behind its `last`
    /// word: the cache fills one line at a time.
    pub(super) fn can_fill(&self, fetch: i64, last: i64) -> Option<i64> {
        let from = self.fill.map_or(fetch + 1, |fill| (fetch + 1).max(fill.there - 1));
        (from <= last + 1).then_some(from)
    }

    /// A line is filled that is not waited for.
    pub(super) fn fill(&mut self, line: u64, from: i64, miss: u32) {
        self.fill = Some(Fill { line, there: from + i64::from(miss), takes: self.takes });
    }

    /// When an instruction can be in ID that would be there in a cycle if its line were not missed, which was found out in
    /// another one, before the line is there. The front end asks again and again; from the start if the fetch goes on there
    /// behind a jump, otherwise from when the instruction before is in MEM and nothing is behind it.
    pub(super) fn finds_line(&self, decode: i64, missed: i64, there: i64) -> i64 {
        let from = if self.fresh { missed } else { self.memory };
        let asks = if there > decode.max(from) { self.line_step } else { 0 };
        decode.max(there + if asks > 0 { (from - there).rem_euclid(asks) } else { 0 })
    }
}
