//! What the front end comes to behind a load that is replayed because it overlaps with a store, before it fetches that again: calls,
//! returns and branches there leave their marks a second time when they are fetched again.

use super::known::Wanted;
use super::pipe::Pipe;
use super::run_on::{Origin, RunOn};
use super::seen::Seen;
use super::shape::{Costs, Shape};
use super::step::Step;
use super::timed::Model;
use super::trail::Trail;
use super::words::REFETCH;
use tollgate_riscv::Insn;

/// Where the front end goes on behind such a load, and until when.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    path: RunOn,
    pipe: Pipe,
    redirect: i64,
}

/// What a load leaves that may be replayed.
#[derive(Clone)]
pub(super) struct Marked {
    /// The run, with the predictions of the jumps before the load, and the number of the load's instruction.
    pub(super) run: Wanted,
    pub(super) at: u8,
    /// Where the front end goes on, and what it looked up there the last time: nothing if it leaves nothing.
    pub(super) mark: Option<Box<(Mark, Option<Trail>)>>,
}

impl Model {
    /// Behind an access, before it goes through the pipe again if it does.
    #[inline(always)]
    pub(super) fn run_on_from_access(&mut self, step: &Step, shape: &Shape, costs: &Costs) {
        if costs.overlap != 0
            && self.turns_behind(step.pa, step.insn)
            && let Some(mark) = self.mark(step, shape, costs)
        {
            self.leave_mark(&mark, &mut Seen::default(), &mut Trail::default());
        }
    }

    /// Where the front end goes on behind a load that is replayed, only because it overlaps with a store.
    pub(super) fn mark(&self, step: &Step, shape: &Shape, costs: &Costs) -> Option<Mark> {
        let others = costs.data_walk > 0 || costs.data_miss > 0 || costs.refused > 0;
        if costs.overlap == 0 || others || self.pipe.is_soiled() {
            return None;
        }
        let again = self.pipe.clone().pass(shape, costs).starts[2];
        let mut pipe = self.pipe.clone();
        let first = pipe.pass(shape, &Costs { overlap: 0, ..*costs }).starts[2];
        if again == first {
            return None;
        }
        pipe.fresh = false;
        let len = u64::from(step.insn.len);
        let (pc, pa) = (step.pc.wrapping_add(len), step.pa.wrapping_add(len));
        let path = RunOn { pc, pa, privilege: step.privilege, from: Origin::Replay };
        Some(Mark { path, pipe, redirect: first + REFETCH })
    }

    /// The front end goes on behind a load. What it sees there stays, if it comes to a branch or jump.
    pub(super) fn leave_mark(&mut self, mark: &Mark, seen: &mut Seen, trail: &mut Trail) {
        self.predict.see(seen);
        self.fetch_on(mark.path, &mut mark.pipe.clone(), mark.redirect, seen, trail);
        if trail.turns {
            self.keep_mark(seen);
        }
    }

    /// What the front end has seen behind a load stays; it is redirected.
    pub(super) fn keep_mark(&mut self, seen: &mut Seen) {
        self.predict.redirect();
        self.predict.keep(seen);
    }

    /// Whether there is a branch or jump to which the fetch may have come behind an access that goes through the pipe again.
    pub(super) fn turns_behind(&mut self, pa: u64, insn: &Insn) -> bool {
        let far = self.far();
        let Some(ahead) = self.ahead.as_mut().filter(|_| self.runs_on && self.pipe.replay.is_some()) else {
            return false;
        };
        let behind = pa + u64::from(insn.len);
        let mut pa = behind;
        while pa < behind + far {
            if ahead.jump(pa).is_some() {
                return true;
            }
            pa += ahead.len(pa);
        }
        false
    }
}
