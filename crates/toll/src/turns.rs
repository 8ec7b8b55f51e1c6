//! Two commands in turns, in pairs of neighboring runs, so that a drift affects both alike.

use crate::account::End;
use crate::bill;
use crate::counted::Counted;
use crate::price::Prices;
use crate::repeat::Again;
use crate::run::Wanted;
use crate::start::StartError;
use crate::watch::Limits;
use std::ffi::OsString;
use std::time::{Duration, Instant};
use tollgate_record::Run;

/// Fewer pairs decide nothing: the test changes their signs at random, and each of fifty counts and fifty times has two choices
/// in which all of its pairs are alike. That is one in 20 of the choices of 12 pairs, and one in 650 of those of 17; the test of
/// pairs asks for one in 500.
pub const FEWEST: usize = 17;
/// The difference is known when half its interval is smaller than this share.
const KNOWN: f64 = 0.01;

/// A series of pairs.
pub trait Series {
    /// The side that is first in the next pair, 0 or 1. If both commands are the same, a fair draw makes each as likely to take
    /// longer.
    fn draw(&mut self) -> usize;

    /// The time that the series has taken.
    fn elapsed(&self) -> Duration;

    /// A run begins after a number of pairs.
    fn begin(&mut self, pairs: usize);

    /// Takes both runs of a pair, which are neighbors.
    fn keep(&mut self, pair: [Counted; 2]);
}

/// Pairs of runs of two commands: the old one, and the one that is compared with it.
pub struct Pairs<T, S> {
    /// When the series began.
    pub started: Instant,
    /// How long it may take.
    pub at_most: Duration,
    /// Returns 0 or 1, as a fair coin.
    pub draw: fn() -> usize,
    /// Begins the record of one run.
    pub begin: T,
    /// Shows the progress of the series, from 0 to 1, and its current work.
    pub show: S,
    /// The runs with their records, pair by pair.
    pub kept: Vec<[(Run, Counted); 2]>,
}

impl<T: Fn() -> Run, S: Fn(f64, String)> Pairs<T, S> {
    /// The records of both sides, with their bills at one price.
    #[must_use]
    pub fn records(self, commands: [&[OsString]; 2], prices: Option<&Prices>) -> [Vec<Run>; 2] {
        let mut runs: [Vec<Run>; 2] = Default::default();
        for pair in self.kept {
            let ids = pair.each_ref().map(|(run, _)| run.id.clone());
            for (side, (mut run, counted)) in pair.into_iter().enumerate() {
                let command = bill::words(commands[side]);
                let input = bill::Input { command, attached: false, counted: &counted, prices };
                run.results = vec![bill::elapsed(&counted)];
                run.results.extend(bill::rows(&input));
                (run.complete, run.interleaved_with) = (true, Some(ids[1 - side].clone()));
                runs[side].push(run);
            }
        }
        runs
    }
}

impl<T: Fn() -> Run, S: Fn(f64, String)> Series for Pairs<T, S> {
    fn draw(&mut self) -> usize {
        (self.draw)()
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn begin(&mut self, pairs: usize) {
        let share = self.elapsed().as_secs_f64() / self.at_most.as_secs_f64();
        let least = if pairs < FEWEST { format!(" of {FEWEST} or more") } else { String::new() };
        (self.show)(share.min(1.0), format!("pair {}{least}", pairs + 1));
    }

    fn keep(&mut self, pair: [Counted; 2]) {
        self.kept.push(pair.map(|counted| ((self.begin)(), counted)));
    }
}

/// Runs two commands in turns until the difference of their times is known, or the next pair would end later than `at_most`, or a
/// signal asks for the end. One pair is run in any case. Returns how the second command ended at last, or how the one ended that was
/// interrupted.
///
/// # Errors
/// A command cannot be started.
pub fn run(
    commands: [&[OsString]; 2],
    wanted: Wanted,
    limits: Limits,
    at_most: Duration,
    series: &mut impl Series,
) -> Result<End, StartError> {
    let again = Again::start()?;
    let mut end = End::Exited(0);
    pairs(at_most, series, |first| {
        let mut pair = [None, None];
        for side in [first, 1 - first] {
            let Some(counted) = again.run(commands[side], wanted, limits)? else { return Ok(None) };
            let is_interrupted = again.was_interrupted();
            if side == 1 || is_interrupted {
                end = counted.account.end;
            }
            if is_interrupted {
                return Ok(None);
            }
            pair[side] = Some(counted);
        }
        let [a, b] = pair;
        Ok(a.zip(b).map(<[Counted; 2]>::from))
    })?;
    Ok(end)
}

/// Keeps pairs until they are enough, or one more would take too long, or there is no further.
fn pairs<E>(
    at_most: Duration,
    series: &mut impl Series,
    mut next: impl FnMut(usize) -> Result<Option<[Counted; 2]>, E>,
) -> Result<(), E> {
    let began = series.elapsed();
    let mut differences = Vec::new();
    loop {
        series.begin(differences.len());
        let first = series.draw();
        let Some(pair) = next(first)? else { return Ok(()) };
        let [a, b] = pair.each_ref().map(|counted| counted.account.wall.as_secs_f64());
        differences.push((b / a).ln());
        series.keep(pair);
        let elapsed = series.elapsed();
        let each = elapsed.saturating_sub(began) / differences.len() as u32;
        if elapsed + each > at_most || is_known(&differences) {
            return Ok(());
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
    use crate::account::Account;
    use crate::count::Source;

    /// A series on a clock that each pair moves on by the same time.
    struct Scripted {
        now: Duration,
        each: Duration,
        kept: usize,
    }

    impl Series for Scripted {
        fn draw(&mut self) -> usize {
            0
        }

        fn elapsed(&self) -> Duration {
            self.now
        }

        fn begin(&mut self, pairs: usize) {
            assert_eq!(pairs, self.kept);
        }

        fn keep(&mut self, _: [Counted; 2]) {
            self.now += self.each;
            self.kept += 1;
        }
    }

    /// How many pairs are run, of commands whose times differ by other shares each time, or by the same.
    fn number(at_most_ms: u64, began_ms: u64, each_ms: u64, is_steady: bool) -> usize {
        let ms = Duration::from_millis;
        let mut series = Scripted { now: ms(began_ms), each: ms(each_ms), kept: 0 };
        let mut count = 0;
        let done: Result<(), ()> = pairs(ms(at_most_ms), &mut series, |_| {
            count += 1;
            let walls = if is_steady || count % 2 == 0 { [1_000, 1_000] } else { [1_000, 2_000] };
            let counted = |wall| Counted::of(Source::Accounts, Account::of_other(ms(wall)), None);
            Ok(Some(walls.map(counted)))
        });
        assert_eq!(done, Ok(()));
        series.kept
    }

    #[test]
    fn no_pair_begins_that_would_end_after_the_time_is_up() {
        assert_eq!(number(1_000, 0, 600, false), 1);
        assert_eq!(number(1_000, 0, 500, false), 2);
        assert_eq!(number(1_000, 0, 10, false), 100);
        // The time before the first pair counts.
        assert_eq!(number(1_000, 700, 100, false), 3);
        // One pair is run in any case.
        assert_eq!(number(1_000, 5_000, 10_000, false), 1);
        assert_eq!(number(30_000, 0, 10, true), FEWEST);
    }

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
