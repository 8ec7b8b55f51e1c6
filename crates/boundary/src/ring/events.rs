//! Events counted in the tasks of a ring, and their way through a probe's parameters into the record.

use std::time::{Duration, Instant};
use tollgate_measure::Refusal;
use tollgate_measure::counters::{Counters, count, groups};
use tollgate_record::{Measurement, Warning};

/// The largest ring whose events are counted: each task takes two or three descriptors.
pub(super) const MOST_COUNTED: u32 = 64;

/// The parameter under which they travel: name, then a figure or a reason, as JSON.
const EVENTS: &str = "events";

/// For how long each group counts.
const SPAN: Duration = Duration::from_millis(10);

/// Counts every group in turn while `lap` sends the token around; events for each hop, as a parameter.
pub(super) fn param(
    counters: &mut dyn Counters,
    tasks: &[i32],
    mut lap: impl FnMut() -> Result<(), Refusal>,
) -> Result<(&'static str, String), Refusal> {
    let hops = tasks.len() as u64;
    let run = || {
        let (begin, mut laps) = (Instant::now(), 0);
        while begin.elapsed() < SPAN {
            lap()?;
            laps += 1;
        }
        Ok::<u64, Refusal>(laps * hops)
    };
    let counted: Vec<Told> = count(counters, &groups(), tasks, run)?
        .into_iter()
        .map(|it| (it.counter.name(), it.per_crossing.map_err(|why| why.to_string())))
        .collect();
    let text = serde_json::to_string(&counted).map_err(|error| Refusal::Failed(error.to_string()))?;
    Ok((EVENTS, text))
}

/// A counter's name, and its figure or why it has none.
type Told = (String, Result<f64, String>);

/// Moves what was counted from the parameters of a ring into the record of its cell. Returns one warning for
/// each reason for which counters are absent.
pub(super) fn take_counters(params: &[(String, String)], cell: &mut Measurement) -> Vec<Warning> {
    let told = params.iter().find(|(key, _)| key == EVENTS);
    let told: Vec<Told> = told.and_then(|(_, text)| serde_json::from_str(text).ok()).unwrap_or_default();
    let mut absent: Vec<(String, Vec<String>)> = Vec::new();
    for (name, figure) in told {
        match figure {
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
        Warning::new("counters-absent", format!("{}: {why}", names.join(", ")))
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
        let told = r#"[["context-switches",{"Ok":1.5}],["cycles:u",{"Err":"none here"}],["cycles:k",{"Err":"none here"}]]"#;
        let params = [("huge_kib", "2048"), ("events", told)].map(|(key, value)| (key.into(), value.into()));
        let warnings = take_counters(&params, &mut cell);
        assert_eq!(cell.counters.len(), 1);
        assert_eq!(cell.counters["context-switches"], 1.5);
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].text, "cycles:u, cycles:k: none here");
    }
}
