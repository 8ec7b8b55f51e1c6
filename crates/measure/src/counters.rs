//! Event counters of the processor and the kernel, read in groups that are never multiplexed.
//!
//! Readings come through [`Counters`], so tests can feed recorded ones to [`count`]. A counter may be refused, may be
//! scheduled for part of the time only, or may open, run and count nothing. [`count`] gives a figure only when
//! nothing speaks against it, and otherwise the reason.

mod event;
mod judge;
mod kernel;

pub use event::{Counter, Event, Mode, groups};
pub use judge::{Counted, CounterError, Counters, Reading, Refused, judge};
pub use kernel::{Kernel, code};

/// Counts each group in a run of its own: `run` makes crossings in `tasks` and returns how many.
///
/// # Errors
/// Whatever stops `run`. What stops a counter is in its [`Counted`].
pub fn count<E>(
    counters: &mut dyn Counters,
    groups: &[Vec<Counter>],
    tasks: &[i32],
    mut run: impl FnMut() -> Result<u64, E>,
) -> Result<Vec<Counted>, E> {
    let mut all = Vec::new();
    for group in groups {
        let mut refused: Vec<Option<Refused>> = vec![None; group.len()];
        // A counter that is refused costs its own figure only: the others are opened without it.
        let (opened, left) = loop {
            let left: Vec<usize> = (0..group.len()).filter(|&at| refused[at].is_none()).collect();
            let smaller: Vec<Counter> = left.iter().map(|&at| group[at]).collect();
            if smaller.is_empty() {
                break (Vec::new(), left);
            }
            let opened: Result<Vec<usize>, Refused> =
                tasks.iter().map(|&task| counters.open(&smaller, task)).collect();
            match opened {
                Ok(opened) => break (opened, left),
                Err(why) => {
                    counters.close();
                    let at = left[why.counter.min(left.len() - 1)];
                    refused[at] = Some(Refused { counter: at, ..why });
                }
            }
        };
        let smaller: Vec<Counter> = left.iter().map(|&at| group[at]).collect();
        let counted = if smaller.is_empty() {
            Ok(Vec::new())
        } else {
            let before = look(counters, &opened);
            let crossings = run()?;
            let after = look(counters, &opened);
            before.and_then(|before| judge(&smaller, &before, &after?, crossings))
        };
        counters.close();
        all.extend(group.iter().enumerate().map(|(at, &counter)| Counted {
            counter,
            per_crossing: match (refused[at], &counted) {
                (Some(refused), _) => Err(CounterError::Refused(refused)),
                (None, Ok(figures)) => {
                    let place = left.iter().position(|&left| left == at).unwrap_or_default();
                    figures[place].clone()
                }
                (None, Err(why)) => Err(why.clone()),
            },
        }));
    }
    Ok(all)
}

fn look(counters: &mut dyn Counters, groups: &[usize]) -> Result<Vec<Reading>, CounterError> {
    let read = |&group: &usize| {
        counters
            .read(group)
            .map_err(|error| CounterError::Unreadable(error.raw_os_error().unwrap_or(libc::EIO)))
    };
    groups.iter().map(read).collect()
}

#[cfg(test)]
mod tests;
