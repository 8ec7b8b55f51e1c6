//! Stage diagrams: what was in which stage of the pipeline in which cycle, and how it can be shown.
//!
//! A [`Lane`] is one instruction on its way through the core, and is all that the writers know:
//! [`text`] draws for a terminal, [`svg`] for a page, [`kanata`] and [`o3pipeview`] write logs that other
//! viewers open. All four are pure functions of the lanes.

use tollgate_record::stages::Scale;
use tollgate_riscv::Op;
use tollgate_riscv::timing::{Flush, Passage, Stage};

pub mod kanata;
pub mod o3pipeview;
mod record;
pub mod svg;
pub mod text;

/// More rows are no diagram.
pub const MOST: usize = 10_000;

/// A stretch of time with a name. Cycles count from the start of the simulation; `end` is the first cycle that
/// no longer belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// A stage (`IF`), or the cause of a wait (`load-use`).
    pub name: &'static str,
    /// Its first cycle.
    pub start: u64,
    /// The cycle after its last.
    pub end: u64,
}

/// Why an instruction that was fetched was thrown away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Squash {
    /// The cycle in which it is gone.
    pub at: u64,
    /// What emptied the pipeline: `trap`, `return`, `branch`.
    pub by: &'static str,
}

/// One instruction on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Its number in the order of fetching.
    pub seq: u64,
    /// Its address.
    pub pc: u64,
    /// The letter of the mode it runs in.
    pub mode: char,
    /// The instruction in assembly; none where its bits are not known.
    pub text: String,
    /// Where it is: `trap_vector+4`. Empty without a symbol.
    pub place: String,
    /// The stages that it entered, in order and without gaps.
    pub stages: Vec<Span>,
    /// Cycles in which it did not move, and why; each lies within a stage.
    pub stalls: Vec<Span>,
    /// Whether it is a store, which is done with when memory has it.
    pub store: bool,
    /// How it was thrown away, if it was.
    pub squash: Option<Squash>,
    /// Whether it is the instruction that raised an exception: it goes all the way and does not retire.
    pub traps: bool,
}

impl Lane {
    /// The lane of an instruction whose assembly and place are known. Where the cause of a wait is known but not
    /// its place within a stage, it is put at the stage's end: an instruction that waits for the one before it
    /// as well does so first.
    #[must_use]
    pub fn new(passage: &Passage, text: String, place: String, op: Option<Op>) -> Self {
        let reached: Vec<(Stage, u64)> = Stage::ALL
            .into_iter()
            .zip(passage.starts)
            .filter_map(|(stage, start)| Some((stage, start?)))
            .collect();
        let end_of = |i: usize| reached.get(i + 1).map_or(passage.end, |next| next.1);
        let mut stages: Vec<Span> = reached
            .iter()
            .enumerate()
            .map(|(i, &(stage, start))| Span { name: stage.name(), start, end: end_of(i) })
            .collect();
        if let [only] = &mut stages[..] {
            // A core of one stage: the model tells when it is left, and what it waited for until then.
            let waited: u64 = passage.stalls.iter().map(|stall| stall.cycles).sum();
            only.start = only.start.saturating_sub(waited);
        }
        let mut stalls = Vec::new();
        let mut ends: Vec<u64> = stages.iter().map(|span| span.end).collect();
        for stall in passage.stalls.iter().rev() {
            let named = stages.iter().position(|span| span.name == stall.stage.name());
            // In a core of two stages the wait is before the second.
            let Some(i) = named.map(|i| if stages.len() == 2 { 0 } else { i }) else { continue };
            let end = if stages.len() == 1 { ends[i] - 1 } else { ends[i] };
            let start = end.saturating_sub(stall.cycles).max(stages[i].start);
            if start < end {
                stalls.push(Span { name: stall.cause.name(), start, end });
                ends[i] = if stages.len() == 1 { start + 1 } else { start };
            }
        }
        stalls.sort_by_key(|stall| stall.start);
        let by = passage.squashed.map(|flush| match flush {
            Flush::Branch => "branch",
            Flush::Trap => "trap",
            Flush::Interrupt => "interrupt",
            Flush::Return => "return",
            Flush::System => "csr or fence",
        });
        Self {
            seq: passage.sequence,
            pc: passage.pc,
            mode: passage.privilege.letter(),
            text,
            place,
            stages,
            stalls,
            store: op.is_some_and(|op| op.row().class == tollgate_riscv::Class::Store),
            squash: by.map(|by| Squash { at: passage.end, by }),
            traps: false,
        }
    }

    /// Its first cycle; 0 for one that entered no stage.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.stages.first().map_or(0, |span| span.start)
    }

    /// The cycle after its last.
    #[must_use]
    pub fn end(&self) -> u64 {
        let last = self.stages.last().map_or(0, |span| span.end);
        self.squash.map_or(last, |squash| squash.at)
    }

    /// The stage of that name, if it entered it before it was thrown away.
    #[must_use]
    pub fn stage(&self, name: &str) -> Option<Span> {
        self.stages.iter().copied().find(|span| span.name == name && span.start < self.end())
    }

    /// How long it waited, by cause, in order of appearance.
    #[must_use]
    pub fn waits(&self) -> Vec<(&'static str, u64)> {
        let mut waits: Vec<(&'static str, u64)> = Vec::new();
        for stall in &self.stalls {
            let cycles = stall.end.min(self.end()).saturating_sub(stall.start);
            match waits.iter_mut().find(|(name, _)| *name == stall.name) {
                Some((_, sum)) => *sum += cycles,
                None => waits.push((stall.name, cycles)),
            }
        }
        waits.retain(|&(_, cycles)| cycles > 0);
        waits
    }

    /// The one letter that a stage has in a diagram: F D X M W, or the first letter of another name.
    #[must_use]
    pub fn letter(stage: &str) -> char {
        match stage {
            "IF" => 'F',
            "ID" => 'D',
            "EX" => 'X',
            "WB" => 'W',
            other => other.chars().next().unwrap_or('?'),
        }
    }
}

/// The axis of the lanes' cycles.
fn scale(lanes: &[Lane]) -> Scale {
    let events = lanes.iter().flat_map(|lane| {
        // The last cycle in the pipeline; and for what is thrown away, the cycle of its cross.
        let cross = lane.squash.map(|squash| squash.at);
        let last = lane.end().saturating_sub(1);
        lane.stages.iter().map(move |span| span.start.min(last)).chain([last]).chain(cross)
    });
    Scale::new(events.collect())
}
