//! Cycles to columns. A diagram of a miss would be mostly waiting, so long stretches in which nothing moves are
//! folded into one column.

use super::Lane;

/// Stretches of this many cycles without an event are folded.
const FOLD: u64 = 6;

/// Which column each cycle has.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    /// (first cycle, first column) of each stretch that is drawn cycle by cycle, ascending. The column before
    /// each but the first stands for a fold.
    runs: Vec<(u64, usize)>,
    /// (cycles, column) of each fold.
    folds: Vec<(u64, usize)>,
    width: usize,
}

impl Scale {
    pub(super) fn new(lanes: &[Lane]) -> Self {
        let mut events: Vec<u64> = lanes
            .iter()
            .flat_map(|lane| {
                // The last cycle in the pipeline; and for what is thrown away, the cycle of its cross.
                let cross = lane.squash.map(|squash| squash.at);
                let last = lane.end().saturating_sub(1);
                lane.stages.iter().map(move |span| span.start.min(last)).chain([last]).chain(cross)
            })
            .collect();
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
    pub(super) fn column(&self, cycle: u64) -> usize {
        let after = self.runs.partition_point(|run| run.0 <= cycle);
        let Some(&(start, column)) = after.checked_sub(1).and_then(|i| self.runs.get(i)) else { return 0 };
        let limit = self.runs.get(after).map_or(usize::MAX, |next| next.1 - 1);
        column.saturating_add((cycle - start) as usize).min(limit)
    }

    /// (cycles, column) of each fold.
    pub(super) fn folds(&self) -> &[(u64, usize)] {
        &self.folds
    }

    pub(super) fn is_fold(&self, column: usize) -> bool {
        self.folds.iter().any(|fold| fold.1 == column)
    }

    /// The cycle that begins in a column; none for a fold.
    pub(super) fn cycle(&self, column: usize) -> Option<u64> {
        if self.is_fold(column) {
            return None;
        }
        let after = self.runs.partition_point(|run| run.1 <= column);
        let &(start, first) = after.checked_sub(1).and_then(|i| self.runs.get(i))?;
        Some(start + (column - first) as u64)
    }

    /// How many columns there are.
    pub(super) fn width(&self) -> usize {
        self.width
    }
}
