//! Running several harts in turns, and what one hart does to another.

use crate::hart::Hart;
use crate::machine::{Machine, Stop};
use crate::observer::Observer;
use crate::turn::QUANTUM;

impl Machine {
    /// Runs the harts in turns until `budget` steps are done or the machine stops. `run` runs the current hart.
    pub(crate) fn run_turns<O: Observer>(
        &mut self,
        budget: u64,
        obs: &mut O,
        run: fn(&mut Self, &mut u64, &mut O) -> Option<Stop>,
    ) -> Stop {
        let mut left = budget;
        loop {
            if (self.turns.over || self.turns.left == 0)
                && let Some(stop) = self.next_turn()
            {
                return stop;
            }
            let given = left.min(self.turns.left);
            let mut rest = given;
            let stop = run(self, &mut rest, obs);
            left -= given - rest;
            self.turns.left -= given - rest;
            match stop {
                Some(stop) => return stop,
                None if left == 0 => return Stop::Budget,
                None => {}
            }
        }
    }

    /// Ends the current turn and begins that of the next hart; the machine stops if all of them wait for ever.
    pub(crate) fn next_turn(&mut self) -> Option<Stop> {
        if self.stopped.is_some() {
            return self.stopped;
        }
        self.turns.busy |= !self.waiting && self.running_started();
        self.turns.busy |= self.hart.retired != self.turns.retired;
        let count = self.turns.parked.len();
        let current = self.turns.current;
        self.exchange(current);
        let started = |n: &usize| self.turns.parked[*n].started;
        let next = match (current + 1..count).find(started) {
            Some(next) => next,
            None => {
                let turns = &mut self.turns;
                let first = turns.parked.iter().position(|core| core.started);
                let asleep = !turns.busy && turns.wake == u64::MAX;
                let Some(first) = first.filter(|_| !asleep) else {
                    self.exchange(current);
                    self.stopped = Some(Stop::Idle);
                    return self.stopped;
                };
                // When all wait, time passes until the first of them continues.
                let wake = if turns.busy { 0 } else { turns.wake };
                turns.start = (turns.start + QUANTUM).max(wake);
                (turns.busy, turns.wake) = (false, u64::MAX);
                first
            }
        };
        self.exchange(next);
        let turns = &mut self.turns;
        (turns.current, turns.left, turns.over) = (next, QUANTUM, false);
        turns.retired = self.hart.retired;
        self.idle = turns.start.wrapping_sub(self.hart.retired);
        self.bus.device_written = true;
        None
    }

    /// Exchanges what runs with what is parked at a place.
    fn exchange(&mut self, n: usize) {
        let core = &mut self.turns.parked[n];
        std::mem::swap(&mut self.hart, &mut core.hart);
        std::mem::swap(&mut self.engine, &mut core.engine);
        std::mem::swap(&mut self.waiting, &mut core.waiting);
        std::mem::swap(&mut self.lines, &mut core.lines);
        // A store of another hart may come in between.
        core.hart.reservation = None;
    }

    fn running_started(&self) -> bool {
        self.turns.parked.get(self.turns.current).is_none_or(|core| core.started)
    }

    /// How many harts there are.
    pub(crate) fn harts(&self) -> usize {
        self.turns.parked.len().max(1)
    }

    /// A hart by its number.
    pub(crate) fn hart_mut(&mut self, n: usize) -> &mut Hart {
        match self.turns.parked.get_mut(n) {
            Some(core) if n != self.turns.current => &mut core.hart,
            _ => &mut self.hart,
        }
    }

    /// Does `fence.i` on a hart: drops what it decoded, unless each write to code is noticed when it is done.
    pub(crate) fn fence_i_of(&mut self, n: usize) {
        if self.config.coherent_code {
            return;
        }
        match self.turns.parked.get_mut(n) {
            Some(core) if n != self.turns.current => core.engine.flush_blocks(),
            _ => self.engine.flush_blocks(),
        }
    }

    /// Makes a hart forget its translations.
    pub(crate) fn flush_translations_of(&mut self, n: usize) {
        match self.turns.parked.get_mut(n) {
            Some(core) if n != self.turns.current => core.engine.flush_translations(),
            _ => self.engine.flush_translations(),
        }
    }

    /// Drops all decoded code of all harts, because code was written.
    pub(crate) fn flush_code(&mut self) {
        self.bus.code_written = false;
        self.bus.code_pages.fill(0);
        self.engine.flush_blocks();
        for core in &mut self.turns.parked {
            core.engine.flush_blocks();
        }
    }

    /// Instructions are decoded from a page: from now on stores to it must be noticed, if fetches are coherent.
    pub(crate) fn note_code(&mut self, page: u64) {
        if self.bus.note_code(page) {
            self.engine.forget_stores(page);
            for core in &mut self.turns.parked {
                core.engine.forget_stores(page);
            }
        }
    }
}
