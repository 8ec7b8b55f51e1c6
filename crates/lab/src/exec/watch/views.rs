//! What a watch writes besides the bill: a timeline and a trace.

use std::io;
use std::ops::Range;
use std::path::Path;

use tollgate_riscv::{BlockInsn, Pass, Several, Touch};

use super::Watch;
use crate::exec::drmemtrace::{Executed, Recorder, Reference};

impl Watch {
    /// Adds what is written besides the bill.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(in crate::exec) fn add_views(&mut self, timeline: bool, trace: Option<&Path>) -> io::Result<()> {
        self.timeline = timeline.then(Box::default);
        if let Some(path) = trace {
            self.recorder = Some(Box::new(Recorder::create(path)?));
        }
        Ok(())
    }

    /// The task that runs, and whose keys it shares.
    pub(super) fn thread(&self) -> (u32, u32) {
        (self.now, self.tasks[self.now as usize].group)
    }

    /// A task has returned from its latest trap, or from all.
    pub(super) fn returned(&mut self, all: bool) {
        let task = self.now;
        let cycles = self.cycles();
        if let Some(timeline) = &mut self.timeline {
            timeline.now = cycles.unwrap_or(timeline.now);
            timeline.end(task, all);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.returned(task, all);
        }
    }

    /// On a core, what follows belongs to this key on the timeline.
    pub(super) fn draw(&mut self, key: u32) {
        let cycles = self.cycles();
        if let (Some(timeline), Some(cycles)) = (&mut self.timeline, cycles) {
            timeline.now = cycles;
            timeline.step(self.now, &self.keys[key as usize]);
        }
    }

    /// Records a part of a run.
    pub(super) fn record(&mut self, several: &Several, pass: &Pass, insns: Range<u16>, accesses: &[Touch]) {
        let thread = self.thread();
        let Some(recorder) = &mut self.recorder else { return };
        let mut accesses = accesses.iter();
        for at in insns {
            let Some(BlockInsn { pc, insn, word, page }) = several.insns.get(usize::from(at)) else { break };
            let access = insn.op.access().and_then(|(size, store)| {
                let touch = accesses.next()?;
                Some(Reference { va: several.outside(touch.va), pa: touch.pa(), size, store })
            });
            let executed = Executed {
                pc: several.outside(*pc),
                pa: u64::from(*page) << 12 | pc & 0xfff,
                insn,
                word: *word,
                next_pc: several.next_pc(pass, at),
                taken: pass.taken() && at + 1 == pass.end(),
            };
            recorder.instruction(thread, &executed, access.into_iter());
        }
    }
}
