//! Several harts, which take turns: each has a task of its own, whose calls continue when it is its turn again.

use std::mem::swap;

use super::Watch;
use crate::exec::crossing::{Crossing, Stage};
use crate::exec::parked::Parked;
use crate::exec::task::Task;

impl Watch {
    /// Switches to another hart: the next events are on it.
    pub(super) fn turn(&mut self, hart: usize) {
        if hart == self.hart {
            return;
        }
        while self.parked.len() <= hart.max(self.hart) {
            // One place for each hart; that of the running hart stays unused.
            let task = self.tasks.len() as u32;
            self.tasks.push(Task::new(task, Stage::Running, Crossing::None));
            self.parked.push(Parked::new(task));
        }
        self.exchange(self.hart);
        self.exchange(hart);
        self.hart = hart;
        self.set_context();
    }

    /// Exchanges what runs with what is parked at a place.
    fn exchange(&mut self, hart: usize) {
        let parked = &mut self.parked[hart];
        swap(&mut self.now, &mut parked.now);
        swap(&mut self.next, &mut parked.next);
        swap(&mut self.alone, &mut parked.alone);
        swap(&mut self.returns_to, &mut parked.returns_to);
        swap(&mut self.last, &mut parked.last);
        swap(&mut self.epoch, &mut parked.epoch);
        swap(&mut self.runs, &mut parked.runs);
        swap(&mut self.parts, &mut parked.parts);
    }
}
