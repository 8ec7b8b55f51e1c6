//! What the front end comes to behind an access that goes through the pipe again, before it does so: calls, returns and branches
//! there leave their marks a second time when they are fetched again.

use super::pipe::Pipe;
use super::run_on::{MOST_JUMPS, RunOn};
use super::shape::{Costs, Shape};
use super::step::Step;
use super::timed::Model;
use super::trail::Trail;
use super::words::REFETCH;
use crate::insn::Insn;

impl Model {
    /// Behind an access that goes through the pipe again, before it does so.
    #[inline(always)]
    pub(super) fn run_on_from_access(&mut self, step: &Step, shape: &Shape, costs: &Costs) {
        if self.runs_on && shape.memory != [false; 2] && self.may_come_again(costs) {
            self.run_on_before(step, shape, costs);
        }
    }

    #[inline(never)]
    fn run_on_before(&mut self, step: &Step, shape: &Shape, costs: &Costs) {
        if self.turns_behind(step.pa, step.insn) {
            let mut trail = Trail::new(self.predict.seen(false));
            let again = self.fetch_before(step, shape, costs, &mut trail);
            self.leave_marks(&mut trail, again);
        }
    }

    /// What the front end has seen on its way stays, if it was there.
    pub(super) fn leave_marks(&mut self, trail: &mut Trail, again: bool) {
        if again {
            self.predict.redirect();
            self.predict.keep(&mut trail.seen);
        }
    }

    /// Whether an access may go through the pipe again although it misses nothing, as far as that shows without passing it. One
    /// that misses leaves marks, too, but for the fast path these are too many to follow.
    fn may_come_again(&self, costs: &Costs) -> bool {
        costs.data_walk == 0 && costs.data_miss == 0 && (costs.overlap != 0 || self.pipe.is_soiled())
    }

    /// Fetches on behind an access until that goes through the pipe again; whether it does.
    fn fetch_before(&mut self, step: &Step, shape: &Shape, costs: &Costs, trail: &mut Trail) -> bool {
        let mut pipe = self.pipe.clone();
        let again = pipe.clone().pass(shape, costs).starts[2];
        let first = pipe.pass_at_once(shape, costs);
        if again == first {
            return false;
        }
        let len = u64::from(step.insn.len);
        pipe.fresh = false;
        let path = RunOn {
            pc: step.pc.wrapping_add(len),
            pa: step.pa.wrapping_add(len),
            privilege: step.privilege,
            jumps: MOST_JUMPS,
            wrong: false,
            lost: false,
            again: true,
        };
        self.fetch_on(path, pipe, first + REFETCH, trail);
        true
    }

    /// The same, with the first looks as they are known, and all kept.
    pub(super) fn find_trail(
        &mut self,
        step: &Step,
        shape: &Shape,
        costs: &Costs,
        trail: &mut Trail,
    ) -> bool {
        trail.restart(true);
        self.may_come_again(costs) && self.fetch_before(step, shape, costs, trail)
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

impl Pipe {
    /// Passes an access as if it did not go through the pipe again; yields when it is in EX.
    fn pass_at_once(&mut self, shape: &Shape, costs: &Costs) -> i64 {
        self.soiled = i64::MIN / 2;
        self.pass(shape, &Costs { data_walk: 0, data_miss: 0, overlap: 0, ..*costs }).starts[2]
    }
}
