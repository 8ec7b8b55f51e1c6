//! Several harts, which take turns: each has a task of its own, whose calls continue when it is its turn again.

use std::mem::swap;
use std::ops::Range;

use tollgate_riscv::Privilege;

use super::Watch;
use crate::exec::crossing::{Crossing, Stage, Step};
use crate::exec::drmemtrace::Reference;
use crate::exec::task::{NOTHING, Part, RUNS, Task};

/// What a watch knows of a hart while another one runs.
pub(super) struct Parked {
    now: u32,
    next: Option<u64>,
    alone: Vec<Reference>,
    returns_to: Privilege,
    last: Step,
    /// Each hart decodes code for itself, and numbers its runs.
    epoch: u64,
    runs: Vec<(u64, Range<u32>)>,
    parts: Vec<Part>,
}

impl Parked {
    fn new(task: u32) -> Self {
        Self {
            now: task,
            next: None,
            alone: Vec::new(),
            returns_to: Privilege::User,
            last: Step::Own,
            epoch: NOTHING,
            runs: vec![(NOTHING, 0..0); RUNS],
            parts: Vec::new(),
        }
    }
}

impl Watch {
    /// What follows happens on this hart.
    pub(super) fn turn(&mut self, hart: usize) {
        if hart == self.hart {
            return;
        }
        while self.parked.len() <= hart.max(self.hart) {
            // What is in the place of the hart that runs is not used.
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
