//! Stage diagrams: which instruction was in which stage of a pipeline in which cycle.
//!
//! Cycles count from the start of the simulation. Every drawing and export is made from these rows. [`Scale`] is the
//! axis that the drawings share: the diagram of a miss would be mostly waiting, so long stretches in which nothing
//! moves are folded into one column.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A stretch of a run on a pipelined core.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageDiagram {
    /// The instructions, in the order of fetching.
    pub rows: Vec<StageRow>,
    /// Index of the row that the diagram is about: what trapped, jumped, was interrupted, or is at the symbol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<u64>,
    /// The first row's number in the order of fetching, from the start of the simulation.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub first_fetch: u64,
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
    /// The stages that it entered before it retired or was thrown away, in order.
    pub stages: Vec<StageSpan>,
    /// Cycles in which it did not move, named after the cause; each is within a stage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<StageSpan>,
    /// How it was thrown away; absent for an instruction that retired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub squash: Option<StageSquash>,
    /// Whether it is the instruction that raised an exception: it passes through every stage and does not retire.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub traps: bool,
    /// Whether it stores to memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stores: bool,
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
    /// The first cycle in which it is no longer in the pipeline.
    pub at: u64,
    /// What emptied the pipeline: `trap`, `interrupt`, `return`, `branch`, `csr or fence`.
    pub by: String,
}

impl StageRow {
    /// The address as a number; 0 if the text is not one.
    #[must_use]
    pub fn pc(&self) -> u64 {
        self.address.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0)
    }

    /// Its first cycle; 0 for one that entered no stage.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.stages.first().map_or(0, |span| span.first)
    }

    /// The cycle after its last.
    #[must_use]
    pub fn end(&self) -> u64 {
        let last = self.stages.last().map_or(0, |span| span.last.saturating_add(1));
        self.squash.as_ref().map_or(last, |squash| squash.at)
    }

    /// The stage of that name, if it entered it.
    #[must_use]
    pub fn stage(&self, name: &str) -> Option<&StageSpan> {
        self.stages.iter().find(|span| span.name == name)
    }

    /// How long it waited, by cause, in order of appearance.
    #[must_use]
    pub fn waits_by_cause(&self) -> Vec<(&str, u64)> {
        let mut sums: Vec<(&str, u64)> = Vec::new();
        for wait in &self.waits {
            match sums.iter_mut().find(|(name, _)| *name == wait.name) {
                Some((_, sum)) => *sum = sum.saturating_add(wait.cycles()),
                None => sums.push((&wait.name, wait.cycles())),
            }
        }
        sums
    }
}

impl StageSpan {
    /// How many cycles it lasts.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }
}

impl Scale {
    /// The axis that some rows of a diagram share.
    #[must_use]
    pub fn of(rows: &[StageRow]) -> Self {
        let events = |row: &StageRow| {
            let entered: Vec<u64> = row.stages.iter().map(|span| span.first).collect();
            let last = row.stages.last().map(|span| span.last);
            entered.into_iter().chain(last).chain(row.squash.as_ref().map(|squash| squash.at))
        };
        Self::new(rows.iter().flat_map(events).collect())
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

    /// The cycle that begins in a column; `None` for a fold.
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
