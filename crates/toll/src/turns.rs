//! Two commands in turns, in pairs of neighboring runs, so that what drifts meets both alike.

use crate::account::End;
use crate::run::{Counted, Extras, Wanted, run as run_once};
use crate::signals::Forwarding;
use crate::start::StartError;
use crate::watch::Limits;
use std::ffi::OsString;
use std::time::{Duration, Instant};

/// Fewer pairs decide nothing: the test changes their signs at random, and each of fifty counts and fifty times has two choices
/// in which all of its pairs are alike. That is one in 20 of the choices of 12 pairs, and one in 650 of those of 17; the test of
/// pairs asks for one in 500.
const FEWEST: usize = 17;
/// The difference is known when half its interval is smaller than this share.
const KNOWN: f64 = 0.01;

/// Runs two commands in turns until the difference of their times is known, the time is up or a signal asks for the end. `draw`
/// returns the side that is first in the next pair, 0 or 1; if both commands are the same, a fair draw makes each as likely to
/// take longer. `keep` takes both runs of each pair, which are neighbors. Returns how the first command ended at last, or how
/// the one ended that was interrupted.
///
/// # Errors
/// A command cannot be started.
pub fn run(
    commands: [&[OsString]; 2],
    wanted: Wanted,
    limits: Limits,
    at_most: Duration,
    mut draw: impl FnMut() -> usize,
    mut keep: impl FnMut([Counted; 2]),
) -> Result<End, StartError> {
    let forwarding = Forwarding::start();
    let (mut differences, mut end) = (Vec::new(), End::Exited(0));
    let started = Instant::now();
    let mut turn = |side: usize| -> Result<Option<Counted>, StartError> {
        let counted = run_once(commands[side], wanted, limits, Extras::default())?;
        let is_interrupted = forwarding.was_interrupted();
        if side == 0 || is_interrupted {
            end = counted.account.end;
        }
        Ok((!is_interrupted).then_some(counted))
    };
    loop {
        let first = draw();
        let Some(one) = turn(first)? else { return Ok(end) };
        let Some(other) = turn(1 - first)? else { return Ok(end) };
        let pair = if first == 0 { [one, other] } else { [other, one] };
        let [a, b] = pair.each_ref().map(|counted| counted.account.wall.as_secs_f64());
        differences.push((b / a).ln());
        keep(pair);
        let is_up = differences.len() >= FEWEST && started.elapsed() >= at_most;
        if is_up || is_known(&differences) {
            return Ok(end);
        }
    }
}

/// Whether so many pairs are enough: the mean of the logarithms of their ratios is known within [`KNOWN`], by its standard
/// error with 95 %.
fn is_known(differences: &[f64]) -> bool {
    let count = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / count;
    let squares = differences.iter().map(|it| (it - mean).powi(2)).sum::<f64>();
    differences.len() >= FEWEST && 1.96 * (squares / (count - 1.0) / count).sqrt() < KNOWN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_known_when_its_interval_is_narrow() {
        let pairs = |spread: f64, count| -> Vec<f64> {
            (0..count).map(|at| if at % 2 == 0 { 0.02 - spread } else { 0.02 + spread }).collect()
        };
        assert!(is_known(&pairs(0.01, 17)));
        // A standard deviation of 3 % in 17 pairs is a half interval of 1.4 %.
        assert!(!is_known(&pairs(0.03, 17)));
        assert!(!is_known(&pairs(0.001, 4)), "four pairs");
        assert!(!is_known(&[f64::NAN; 17]), "a run without a time");
    }
}
