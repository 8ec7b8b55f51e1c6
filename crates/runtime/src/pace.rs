//! How long rows are likely to take: by their plan before any is measured, and by those that were measured after that.

use crate::row::{Row, State};
use crate::table::Kind;
use std::time::Duration;

/// Seconds until a process has started and ended.
const START_S: f64 = 0.05;
/// Seconds for a task: to make it, to switch to it in each of the fewest batches, and to end it. A thread is made by the kernel.
const TASK_S: f64 = 8e-6;
const THREAD_S: f64 = 80e-6;
/// The time of a plan for each row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turn {
    /// Turns of each row.
    pub(crate) epochs: u32,
    /// Milliseconds of warm-up at least.
    pub(crate) warm_ms: u64,
    /// Seconds of batches.
    pub(crate) batches_s: f64,
    /// Seconds of further turns, of all rows together.
    pub(crate) further_s: f64,
}

impl Turn {
    /// Seconds of one turn of a row.
    fn likely_s(&self, row: &Row) -> f64 {
        let task = if row.runtime.kind == Kind::Thread { THREAD_S } else { TASK_S };
        let warm = self.warm_ms.max(row.runtime.warm_min_ms) as f64 / 1e3;
        START_S + warm + self.batches_s + row.tasks as f64 * task
    }
}

/// How long the turns of all rows take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    turn: Turn,
    /// Seconds of all turns by the plan, of those that were made by the plan, and what these took.
    planned: f64,
    made: f64,
    took: f64,
}

impl Pace {
    /// Of these rows.
    pub(crate) fn of(rows: &[Row], turn: Turn) -> Self {
        let active = rows.iter().filter(|row| row.state == State::Active);
        let planned = active.map(|row| turn.likely_s(row)).sum::<f64>() * f64::from(turn.epochs);
        Self { turn, planned, ..Self::default() }
    }

    /// One turn of these rows has been made.
    pub(crate) fn made<'r>(&mut self, rows: impl IntoIterator<Item = &'r Row>, took: Duration) {
        let likely: f64 = rows.into_iter().map(|row| self.turn.likely_s(row)).sum();
        // Further turns are not in the sum.
        self.made = (self.made + likely).min(self.planned);
        self.took += took.as_secs_f64();
    }

    /// Turns of a row will not be made.
    pub(crate) fn without(&mut self, row: &Row, turns: u32) {
        self.planned = (self.planned - self.turn.likely_s(row) * f64::from(turns)).max(self.made);
    }

    /// Seconds of everything.
    pub(crate) fn total_s(&self) -> f64 {
        // A few rows do not tell how long the others take: the plan counts as much as half of all rows.
        let trust = self.planned / 2.0;
        let pace = if trust > 0.0 { (self.took + trust) / (self.made + trust) } else { 1.0 };
        self.took + (self.planned - self.made) * pace + self.turn.further_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::Room;
    use crate::table::Runtime;
    use rand::seq::SliceRandom;
    use rand::{RngExt, SeedableRng};
    use std::path::Path;

    /// The rows of a growth of three mechanisms, one of them of threads.
    fn rows() -> Vec<Row> {
        let room = Room { bytes: 1 << 40, bound: "--memory" };
        let kinds = [Kind::Stackful, Kind::Stackless, Kind::Thread];
        let all = kinds.iter().flat_map(|&kind| {
            crate::choice::growth(false).iter().map(move |&tasks| {
                let mut runtime = Runtime::own(Path::new("/bin/true"));
                runtime.kind = kind;
                Row::new(&runtime, &runtime.mechanisms[0], tasks, room)
            })
        });
        all.collect()
    }

    const GROWTH: Turn = Turn { epochs: 2, warm_ms: 5, batches_s: 0.06, further_s: 0.0 };

    #[test]
    fn the_estimate_of_a_growth_does_not_double() {
        for (seed, factor) in [(1, 1.0), (2, 0.5), (3, 1.5), (4, 1.0), (5, 1.4)] {
            let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
            let rows = rows();
            let mut pace = Pace::of(&rows, GROWTH);
            let (first, mut least) = (pace.total_s(), f64::INFINITY);
            for _ in 0..GROWTH.epochs {
                let mut order: Vec<&Row> = rows.iter().collect();
                order.shuffle(&mut rng);
                for row in order {
                    least = least.min(pace.total_s());
                    // Each row differs from its plan as rows do.
                    let took = GROWTH.likely_s(row) * factor * rng.random_range(0.7..1.4);
                    pace.made([row], Duration::from_secs_f64(took));
                    assert!(pace.total_s() < 2.0 * least, "{seed}: {} after {least}", pace.total_s());
                }
            }
            assert!((pace.total_s() - pace.took).abs() < 1e-6, "nothing is left");
            assert!(first / pace.took < 2.2 && pace.took / first < 2.2, "{seed}: {first} and {}", pace.took);
        }
    }

    #[test]
    fn what_fails_is_not_waited_for_and_further_turns_are() {
        let rows = rows();
        let mut pace = Pace::of(&rows[..2], Turn { further_s: 8.0, ..GROWTH });
        pace.made([&rows[0]], Duration::from_millis(1));
        pace.without(&rows[0], 1);
        pace.without(&rows[1], 2);
        assert!((pace.total_s() - 8.001).abs() < 1e-6, "{}", pace.total_s());
    }
}
