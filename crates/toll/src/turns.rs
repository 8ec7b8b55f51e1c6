//! Two commands in turns, A B B A, so that what drifts meets both alike.

use crate::account::End;
use crate::bill::{self, Input};
use crate::run::{Extras, Wanted, run as run_once};
use crate::start::StartError;
use crate::watch::Limits;
use std::ffi::OsString;
use std::time::{Duration, Instant};
use tollgate_record::Measurement;

/// Fewer runs of each side decide nothing: the test deals them out at random. Six and six fall apart by chance once in 462, which
/// is too often for the fifty counts of a busy machine that are tested at once; eight and eight once in 6,435.
const FEWEST: usize = 8;
/// The difference is known when half its interval is smaller than this share.
const KNOWN: f64 = 0.01;

/// Runs two commands in turns until the difference of their times is known or the time is up. `keep` takes the side and the
/// rows of each run. Returns how the first command ended at last.
///
/// # Errors
/// A command cannot be started.
pub fn run(
    commands: [&[OsString]; 2],
    wanted: Wanted,
    limits: Limits,
    at_most: Duration,
    mut keep: impl FnMut(usize, Vec<Measurement>),
) -> Result<End, StartError> {
    let (mut times, mut end): ([Vec<f64>; 2], End) = (Default::default(), End::Exited(0));
    let started = Instant::now();
    for turn in 0.. {
        let side = side(turn);
        let counted = run_once(commands[side], wanted, limits, Extras::default())?;
        let input =
            Input { command: bill::words(commands[side]), attached: false, counted: &counted, prices: None };
        let mut rows = vec![bill::elapsed(&counted)];
        rows.extend(bill::rows(&input));
        keep(side, rows);
        times[side].push(counted.account.wall.as_secs_f64());
        if side == 0 {
            end = counted.account.end;
        }
        let is_up = times[1].len() >= FEWEST && started.elapsed() >= at_most;
        if turn % 4 == 3 && (is_up || is_known(&times)) {
            break;
        }
    }
    Ok(end)
}

/// Whose turn it is: 0 for A, 1 for B.
fn side(turn: usize) -> usize {
    usize::from(matches!(turn % 4, 1 | 2))
}

/// Whether runs of these lengths are enough: the difference of the means of the logarithms is known within [`KNOWN`], by its
/// standard error with 95 %.
fn is_known(sides: &[Vec<f64>; 2]) -> bool {
    let error = |side: &Vec<f64>| {
        let count = side.len() as f64;
        let mean = side.iter().map(|it| it.ln()).sum::<f64>() / count;
        let squares = side.iter().map(|it| (it.ln() - mean).powi(2)).sum::<f64>();
        squares / (count - 1.0) / count
    };
    let half = 1.96 * sides.iter().map(error).sum::<f64>().sqrt();
    sides.iter().all(|side| side.len() >= FEWEST) && half < KNOWN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_balance_what_drifts() {
        let sides: Vec<usize> = (0..8).map(side).collect();
        assert_eq!(sides, [0, 1, 1, 0, 0, 1, 1, 0]);
        // The places of both sides have the same sum.
        let places = |of| (0..8).filter(|turn| side(*turn) == of).sum::<usize>();
        assert_eq!(places(0), places(1));
    }

    #[test]
    fn a_difference_is_known_when_its_interval_is_narrow() {
        let runs = |spread: f64, count| -> Vec<f64> {
            (0..count).map(|at| if at % 2 == 0 { 100.0 - spread } else { 100.0 + spread }).collect()
        };
        assert!(is_known(&[runs(0.5, 8), runs(0.5, 8)]));
        // A standard deviation of 3 % in 8 runs each is a half interval of 3 %.
        assert!(!is_known(&[runs(3.0, 8), runs(3.0, 8)]));
        assert!(!is_known(&[runs(0.1, 2), runs(0.1, 2)]), "two runs");
    }
}
