//! Stage diagrams: which instruction was in which stage of a pipeline in which cycle.
//!
//! Cycles count from the start of the simulation. [`Scale`] is the axis that every drawing shares: the diagram of
//! a miss would be mostly waiting, so long stretches in which nothing moves are folded into one column.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stretch of a run on a pipelined core.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageDiagram {
    /// The instructions, in the order of fetching.
    pub rows: Vec<StageRow>,
    /// Index of the row that the diagram is about: what trapped, jumped, was interrupted, or stands at the symbol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<u64>,
    /// What the diagram shows, in one or two sentences.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// One instruction on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageRow {
    /// Its address, hexadecimal with `0x`: a number of 64 bits is more than many readers of JSON hold.
    pub address: String,
    /// The letter of the mode that it runs in: `M`, `S` or `U`.
    pub mode: String,
    /// The instruction in assembly; empty where its bits are not known.
    pub text: String,
    /// Where it is: `trap_vector+4`. Empty without a symbol.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// The stages that it entered before it was done or gone, in order.
    pub stages: Vec<StageSpan>,
    /// Cycles in which it did not move, named after the cause; each lies within a stage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<StageSpan>,
    /// How it was thrown away; absent for an instruction that retired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub squash: Option<StageSquash>,
    /// Whether it is the instruction that raised an exception: it goes all the way and does not retire.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub traps: bool,
}

/// A stretch of cycles with a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageSpan {
    /// A stage (`IF`), or the cause of a wait (`load-use`).
    pub name: String,
    /// Its first cycle.
    pub first: u64,
    /// Its last cycle.
    pub last: u64,
}

/// Why an instruction that was fetched was thrown away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageSquash {
    /// The cycle in which it is gone.
    pub at: u64,
    /// What emptied the pipeline: `trap`, `interrupt`, `return`, `branch`, `csr or fence`.
    pub by: String,
}

impl StageDiagram {
    /// The axis of its cycles.
    #[must_use]
    pub fn scale(&self) -> Scale {
        let events = |row: &StageRow| {
            let entered: Vec<u64> = row.stages.iter().map(|span| span.first).collect();
            let last = row.stages.last().map(|span| span.last);
            entered.into_iter().chain(last).chain(row.squash.as_ref().map(|squash| squash.at))
        };
        Scale::new(self.rows.iter().flat_map(events).collect())
    }
}

/// Stretches of this many cycles without an event are folded.
const FOLD: u64 = 6;

/// Which column each cycle has.
#[derive(Clone, Debug)]
pub struct Scale {
    /// (first cycle, first column) of each stretch that is drawn cycle by cycle, ascending. The column before
    /// each but the first stands for a fold.
    runs: Vec<(u64, usize)>,
    /// (cycles, column) of each fold.
    folds: Vec<(u64, usize)>,
    width: usize,
}

impl Scale {
    /// From the cycles in which something happens, in any order: an instruction enters a stage, is in its last, or
    /// is gone.
    #[must_use]
    pub fn new(mut events: Vec<u64>) -> Self {
        events.sort_unstable();
        events.dedup();
        let Some(&first) = events.first() else {
            return Self { runs: Vec::new(), folds: Vec::new(), width: 0 };
        };
        let (mut runs, mut folds, mut column) = (vec![(first, 0)], Vec::new(), 1);
        for pair in events.windows(2) {
            let gap = pair[1] - pair[0];
            if gap > FOLD {
                // The cycle after the event still shows that it goes on, the fold stands for the others.
                folds.push((gap - 2, column + 1));
                runs.push((pair[1], column + 2));
                column += 3;
            } else {
                column += gap as usize;
            }
        }
        Self { runs, folds, width: column }
    }

    /// The column of a cycle; one inside a fold has the fold's.
    #[must_use]
    pub fn column(&self, cycle: u64) -> usize {
        let after = self.runs.partition_point(|run| run.0 <= cycle);
        let Some(&(start, column)) = after.checked_sub(1).and_then(|i| self.runs.get(i)) else { return 0 };
        let limit = self.runs.get(after).map_or(usize::MAX, |next| next.1 - 1);
        column.saturating_add((cycle - start) as usize).min(limit)
    }

    /// (cycles, column) of each fold.
    #[must_use]
    pub fn folds(&self) -> &[(u64, usize)] {
        &self.folds
    }

    /// Whether a column stands for a fold.
    #[must_use]
    pub fn is_fold(&self, column: usize) -> bool {
        self.folds.iter().any(|fold| fold.1 == column)
    }

    /// The cycle that begins in a column; none for a fold.
    #[must_use]
    pub fn cycle(&self, column: usize) -> Option<u64> {
        if self.is_fold(column) {
            return None;
        }
        let after = self.runs.partition_point(|run| run.1 <= column);
        let &(start, first) = after.checked_sub(1).and_then(|i| self.runs.get(i))?;
        Some(start.saturating_add((column - first) as u64))
    }

    /// How many columns there are.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }
}
