//! Events counted in the tasks of a ring.

use std::time::{Duration, Instant};
use tollgate_measure::counters::{Counters, count, groups};
use tollgate_measure::{CounterReading, Refusal};
use tollgate_record::{Measurement, Warning, warning};

/// The largest ring whose events are counted: each task takes two or three descriptors.
pub(super) const MOST_COUNTED: u32 = 64;

/// How long each group counts.
const SPAN: Duration = Duration::from_millis(10);

/// Counts every group in turn while `lap` sends the token around: events for each hop.
pub(super) fn counted(
    counters: &mut dyn Counters,
    tasks: &[i32],
    mut lap: impl FnMut() -> Result<(), Refusal>,
) -> Result<Vec<CounterReading>, Refusal> {
    let hops = tasks.len() as u64;
    let run = || {
        let (begin, mut laps) = (Instant::now(), 0);
        while begin.elapsed() < SPAN {
            lap()?;
            laps += 1;
        }
        Ok::<u64, Refusal>(laps * hops)
    };
    let counted = count(counters, &groups(), tasks, run)?.into_iter().map(|it| CounterReading {
        name: it.counter.name(),
        per_crossing: it.per_crossing.map_err(|why| why.to_string()),
    });
    Ok(counted.collect())
}

/// Writes the counts to the record of the cell. Returns one warning for each reason for which counters are absent.
pub(super) fn take_counters(counted: Vec<CounterReading>, cell: &mut Measurement) -> Vec<Warning> {
    let mut absent: Vec<(String, Vec<String>)> = Vec::new();
    for CounterReading { name, per_crossing } in counted {
        match per_crossing {
            Ok(events) => {
                cell.counters.insert(name, events);
            }
            Err(why) => match absent.iter_mut().find(|(there, _)| *there == why) {
                Some((_, names)) => names.push(name),
                None => absent.push((why, vec![name])),
            },
        }
    }
    let warning = |(why, names): (String, Vec<String>)| {
        Warning::new(warning::COUNTERS_ABSENT, format!("{}: {why}", names.join(", ")))
    };
    absent.into_iter().map(warning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_record::{Per, Status};

    #[test]
    fn figures_go_to_the_record_and_reasons_to_warnings() {
        let mut cell = Measurement::empty("ring/pipe", "host", Per::Switch, Status::Measured);
        let absent = || Err("none here".to_owned());
        let counted = [("context-switches", Ok(1.5)), ("cycles:u", absent()), ("cycles:k", absent())]
            .map(|(name, per_crossing)| CounterReading { name: name.into(), per_crossing });
        let warnings = take_counters(counted.into(), &mut cell);
        assert_eq!(cell.counters.len(), 1);
        assert_eq!(cell.counters["context-switches"], 1.5);
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].text, "cycles:u, cycles:k: none here");
    }
}
