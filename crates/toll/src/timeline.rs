//! When a program crossed: its counts in slices of 10 ms, and the file that Perfetto draws.

use crate::count::{Counts, Kind};
use crate::price::Prices;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The length of a slice at first.
const PERIOD: Duration = Duration::from_millis(10);
/// With more slices than this each pair becomes one, so that the memory of a long run is bounded.
const MOST: usize = 1 << 15;
/// As many boundaries have a track of their own.
const TRACKS: usize = 10;

/// The slices of a run.
#[derive(Clone, Debug)]
pub struct Timeline {
    started: Instant,
    period: Duration,
    /// Each boundary that was crossed, and how often until now.
    boundaries: Vec<((Kind, String), u64)>,
    slices: Vec<Slice>,
}

/// The counts between two readings.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Slice {
    from: Duration,
    to: Duration,
    /// Crossings, by the place of their boundary in [`Timeline::boundaries`].
    crossings: BTreeMap<usize, u64>,
}

impl Timeline {
    pub(crate) fn start() -> Self {
        Self { started: Instant::now(), period: PERIOD, boundaries: Vec::new(), slices: Vec::new() }
    }

    /// The time from one reading to the next.
    pub(crate) fn period(&self) -> Duration {
        self.period
    }

    /// Takes the counts since the start.
    pub(crate) fn read(&mut self, counts: &Counts) {
        self.read_at(self.started.elapsed(), counts);
    }

    fn read_at(&mut self, to: Duration, counts: &Counts) {
        let mut crossings = BTreeMap::new();
        for (boundary, tally) in &counts.boundaries {
            let found = self.boundaries.iter().position(|(known, _)| known == boundary);
            let at = found.unwrap_or_else(|| {
                self.boundaries.push((boundary.clone(), 0));
                self.boundaries.len() - 1
            });
            let before = &mut self.boundaries[at].1;
            // A reading that failed has fewer; the next one contains what it missed.
            if let Some(more) = tally.count.checked_sub(*before).filter(|more| *more > 0) {
                *before = tally.count;
                crossings.insert(at, more);
            }
        }
        let from = self.slices.last().map_or(Duration::ZERO, |slice| slice.to);
        self.slices.push(Slice { from, to, crossings });
        if self.slices.len() > MOST {
            self.period *= 2;
            self.slices = self.slices.chunks(2).map(Slice::joined).collect();
        }
    }

    /// Crossings of a boundary, by slice.
    #[must_use]
    pub fn crossings(&self, kind: Kind, name: &str) -> Vec<u64> {
        let at = self.boundaries.iter().position(|((of, known), _)| *of == kind && known == name);
        let of = |slice: &Slice| at.and_then(|at| slice.crossings.get(&at)).copied().unwrap_or(0);
        self.slices.iter().map(of).collect()
    }

    /// The JSON of Chrome's trace events: each slice with its counts, and as counters the tolls and crossings in one period.
    #[must_use]
    pub fn chrome_trace(&self, command: &[String], prices: Option<&Prices>) -> String {
        let period = format!("{} ms", self.period.as_millis());
        let mut events = vec![
            json!({ "ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": { "name": command.join(" ") } }),
            json!({ "ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": { "name": "what was crossed" } }),
        ];
        let mut most: Vec<&((Kind, String), u64)> =
            self.boundaries.iter().filter(|((kind, _), _)| kind.is_crossing()).collect();
        most.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        most.truncate(TRACKS);
        for slice in &self.slices {
            let (ts, dur) = (micros(slice.from), micros(slice.to - slice.from));
            let counts: Map<String, Value> = slice
                .crossings
                .iter()
                .map(|(at, count)| (label(&self.boundaries[*at].0), Value::from(*count)))
                .collect();
            events.push(
                json!({ "ph": "X", "name": "slice", "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": counts }),
            );
            // A slice that is longer, because the machine was busy, or shorter, the last one, is drawn as its rate.
            let scale = micros(self.period) / dur.max(1.0);
            let sums = |worth: &dyn Fn(Kind, &str) -> f64| -> Map<String, Value> {
                let mut sums: BTreeMap<String, f64> = [Kind::Call, Kind::Fault, Kind::Signal]
                    .into_iter()
                    .map(|kind| (format!("{}s", kind.name()), 0.0))
                    .collect();
                for (at, count) in &slice.crossings {
                    let (kind, name) = &self.boundaries[*at].0;
                    if let Some(sum) = sums.get_mut(&format!("{}s", kind.name())) {
                        *sum += *count as f64 * scale * worth(*kind, name);
                    }
                }
                sums.into_iter().map(|(kind, sum)| (kind, sum.into())).collect()
            };
            if let Some(prices) = prices {
                let us = |kind, name: &str| prices.of(kind, name).map_or(0.0, |price| price.estimate / 1e3);
                events.push(counter(&format!("tolls, µs per {period}"), ts, &sums(&us)));
            }
            events.push(counter(&format!("crossings per {period}"), ts, &sums(&|_, _| 1.0)));
            for (boundary, _) in &most {
                let at = self.boundaries.iter().position(|(known, _)| known == boundary);
                let count = at.and_then(|at| slice.crossings.get(&at)).copied().unwrap_or(0);
                let value = Map::from_iter([("crossings".to_owned(), (count as f64 * scale).into())]);
                events.push(counter(&format!("{} per {period}", label(boundary)), ts, &value));
            }
        }
        json!({ "displayTimeUnit": "ms", "traceEvents": events }).to_string()
    }
}

impl Slice {
    /// Slices that follow each other as one.
    fn joined(parts: &[Self]) -> Self {
        let mut crossings: BTreeMap<usize, u64> = BTreeMap::new();
        for (at, count) in parts.iter().flat_map(|part| &part.crossings) {
            *crossings.entry(*at).or_default() += count;
        }
        let time = |of: fn(&Self) -> Duration, part: Option<&Self>| part.map_or(Duration::ZERO, of);
        Self { from: time(|it| it.from, parts.first()), to: time(|it| it.to, parts.last()), crossings }
    }
}

fn counter(name: &str, ts: f64, values: &Map<String, Value>) -> Value {
    json!({ "ph": "C", "name": name, "pid": 1, "ts": ts, "args": values })
}

fn label((kind, name): &(Kind, String)) -> String {
    match kind {
        Kind::Call | Kind::Signal | Kind::Exec | Kind::Interrupt => name.clone(),
        kind => format!("{}, {name}", kind.name()),
    }
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(reads: u64, faults: u64) -> Counts {
        let mut counts = Counts::default();
        counts.add(Kind::Call, "read", reads);
        counts.add(Kind::Fault, "file", faults);
        counts
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn slices_are_differences_and_a_failed_reading_loses_nothing() {
        let mut timeline = Timeline::start();
        for (at, counts) in
            [(10, counts(5, 0)), (20, Counts::default()), (30, counts(0, 2)), (40, counts(12, 3))]
        {
            timeline.read_at(ms(at), &counts);
        }
        assert_eq!(timeline.crossings(Kind::Call, "read"), [5, 0, 0, 7]);
        assert_eq!(timeline.crossings(Kind::Fault, "file"), [0, 0, 2, 1]);
        assert_eq!(timeline.crossings(Kind::Fault, "read"), [0; 4]);
    }

    #[test]
    fn a_long_run_has_longer_slices_and_the_same_sum() {
        let mut timeline = Timeline::start();
        for at in 1..=MOST as u64 + 1 {
            timeline.read_at(ms(10 * at), &counts(at * 3, 0));
        }
        assert_eq!((timeline.period(), timeline.slices.len()), (ms(20), MOST / 2 + 1));
        let reads = timeline.crossings(Kind::Call, "read");
        assert_eq!((reads[0], reads.iter().sum::<u64>()), (6, 3 * (MOST as u64 + 1)));
        assert_eq!((timeline.slices[1].from, timeline.slices[1].to), (ms(20), ms(40)));
    }

    #[test]
    fn counters_are_rates_and_slices_are_counts() {
        let mut timeline = Timeline::start();
        timeline.read_at(ms(10), &counts(100, 1));
        // Twice as long: the same rate.
        timeline.read_at(ms(30), &counts(300, 1));
        let trace: Value = serde_json::from_str(&timeline.chrome_trace(&["a".into()], None)).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let of = |ph: &str, name: &str, value: &str| -> Vec<Value> {
            let is = |event: &&Value| event["ph"] == ph && event["name"] == name;
            events.iter().filter(is).map(|event| event["args"][value].clone()).collect()
        };
        assert_eq!(of("X", "slice", "read"), [100, 200]);
        assert_eq!(of("C", "crossings per 10 ms", "system calls"), [100.0, 100.0]);
        assert_eq!(of("C", "crossings per 10 ms", "faults"), [1.0, 0.0]);
        assert_eq!(of("C", "read per 10 ms", "crossings"), [100.0, 100.0]);
        let tolls = |event: &&Value| event["name"].as_str().is_some_and(|name| name.starts_with("tolls"));
        assert_eq!(events.iter().filter(tolls).count(), 0, "without prices there are no tolls");
        let ends = events.iter().find(|event| event["ph"] == "X" && event["ts"] == 10_000.0);
        assert_eq!(ends.map(|event| event["dur"].clone()), Some(20_000.0.into()));
    }
}
