//! The bills of a minor and of a major fault, from the kinds that were measured beside them.

use super::kind::{MAPPED, OFF_CPU, WALL};
use tollgate_measure::clock::Source;
use tollgate_measure::samples::{ProbeState, RunSamples};
use tollgate_measure::{Meta, summary};
use tollgate_record::{Estimate, Evidence, Measurement, Phase, PhaseName, Status, counter, phase};

/// Moves the counts that a probe reports without claiming them from the proof to the counters.
pub fn move_reported(results: &mut [Measurement]) {
    for result in results {
        for claim in [MAPPED, OFF_CPU, WALL] {
            if let Some(count) = result.proof.remove(claim.key) {
                result.counters.insert(claim.key.into(), count);
            }
        }
    }
}

/// Adds the bills, and moves the counts that are reported, not claimed, to the counters. `samples` are those of `metas`.
pub fn arrange_sampled(results: &mut [Measurement], metas: &[&Meta], samples: &RunSamples, source: Source) {
    let Some(units) = summary::units(samples, source) else { return arrange(results, &|_| None) };
    let sampled = |probe: &str| {
        let (meta, samples) = metas.iter().zip(&samples.probes).find(|(meta, _)| meta.id == probe)?;
        (samples.state == ProbeState::Active).then_some((samples, f64::from(meta.crossings_per_pass)))
    };
    arrange(results, &|[whole, part]: [&str; 2]| {
        let ((whole, of_whole), (part, of_part)) = (sampled(whole)?, sampled(part)?);
        let levels = summary::levels(whole, of_whole);
        let beside = summary::levels_beside(part, whole, [of_part, of_whole]);
        let rest = levels.iter().zip(&beside).map(|(whole, part)| whole - part);
        let both = [beside.to_vec(), rest.collect::<Vec<f64>>()];
        let [part, rest] = both.map(|levels| {
            let known: Vec<f64> = levels.into_iter().filter(|level| level.is_finite()).collect();
            summary::of_levels(&known, &units)
        });
        Some([part?, rest?])
    });
}

/// Finds a whole and a part of it by name: the part, and the rest of the whole, from neighboring batches.
type Divide<'a> = &'a dyn Fn([&str; 2]) -> Option<[Estimate; 2]>;

fn arrange(results: &mut [Measurement], divide: Divide<'_>) {
    move_reported(results);
    let parts = Parts::of(results, divide);
    // A bill by the kernel's stamps is finer.
    let whole = |result: &&mut Measurement| result.probe == "fault/anonymous" && result.phases.is_empty();
    if let Some(minor) = results.iter_mut().find(whole)
        && let Some([work, exception]) = parts.minor
    {
        minor.phases = vec![
            part(phase::ENTRY_AND_RETURN, exception, Evidence::Difference),
            part(phase::PAGE_AND_MAPPING, work, Evidence::Measured),
        ];
    }
    if let Some(major) = results.iter_mut().find(|result| result.probe == "fault/major") {
        major.phases = phases(major, &parts);
    }
}

/// The parts of the bill that come from other kinds.
struct Parts {
    /// A fault on fresh memory: the same page populated in a call (found, cleared and mapped), and the rest, which is the
    /// exception and its return.
    minor: Option<[Estimate; 2]>,
    /// The cost of each further page of a fault-around: one cached page entered into the page table.
    mapping: Option<Estimate>,
}

impl Parts {
    fn of(results: &[Measurement], divide: Divide<'_>) -> Self {
        let find = |probe: &str| {
            results.iter().find(|result| result.probe == probe && result.status == Status::Measured)
        };
        let divided = |whole: &str, part: &str| {
            find(whole).zip(find(part))?;
            divide([whole, part])
        };
        let pages = find("fault/around").and_then(|around| around.counter(counter::MAPPED_PER_TOUCH));
        let mapping = divided("fault/around", "fault/cached-page")
            .zip(pages)
            .and_then(|([_, others], pages)| (pages > 1.0).then(|| others.scaled(1.0 / (pages - 1.0))));
        Self { minor: divided("fault/anonymous", "fault/populate-write"), mapping }
    }

    /// The exception and its return.
    fn exception(&self) -> Option<Estimate> {
        self.minor.map(|[_, exception]| exception)
    }
}

/// The parts of a major fault; they add up to its figure.
fn phases(major: &Measurement, parts: &Parts) -> Vec<Phase> {
    let (Some(total), Some(share)) = (major.ns, off_cpu_share(major)) else { return Vec::new() };
    let wait = total.scaled(share);
    let known = Estimate::sum([parts.exception(), parts.mapping].into_iter().flatten());
    let rest = total.scaled(1.0 - share).minus(&known);
    let difference = |name| move |ns| part(name, ns, Evidence::Difference);
    let mut phases: Vec<Phase> =
        parts.exception().map(difference(phase::ENTRY_AND_RETURN)).into_iter().collect();
    phases.push(part(phase::LOOKUP_AND_REQUEST, rest, Evidence::Difference));
    phases.push(part(phase::DEVICE_WAIT, wait, Evidence::Measured));
    phases.extend(parts.mapping.map(difference(phase::MAPPING)));
    phases
}

/// The share of the time in which the thread was off the CPU.
fn off_cpu_share(result: &Measurement) -> Option<f64> {
    let share = result.counter(counter::OFF_CPU)? / result.counter(counter::WALL)?;
    share.is_finite().then_some(share)
}

fn part(name: PhaseName, ns: Estimate, evidence: Evidence) -> Phase {
    Phase { ns: Some(ns), ..Phase::new(name, evidence) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_record::Per;

    fn kind(probe: &str, ns: f64, told: &[(&str, f64)]) -> Measurement {
        let mut kind = Measurement::empty(probe, "host", Per::Touch, Status::Measured);
        kind.ns = Some(Estimate::within(ns, [ns - 1.0, ns + 1.0]));
        kind.proof = told.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect();
        kind
    }

    /// 16 pages for 2,000 where one costs 500: 100 each. Three quarters of 80,000 are off the CPU.
    fn kinds() -> Vec<Measurement> {
        vec![
            kind("fault/anonymous", 1_300.0, &[("minor-per-touch", 1.0)]),
            kind("fault/populate-write", 500.0, &[]),
            kind("fault/cached-page", 500.0, &[]),
            kind("fault/around", 2_000.0, &[("mapped-per-touch", 16.0)]),
            kind(
                "fault/major",
                80_000.0,
                &[("off-cpu-ns-per-touch", 75.0), ("wall-ns-per-touch", 100.0), ("major-per-touch", 1.0)],
            ),
        ]
    }

    /// Adds the bills from the figures alone.
    fn arrange(results: &mut [Measurement]) {
        let figures: Vec<_> = results.iter().map(|it| (it.probe.clone(), it.ns)).collect();
        let ns = |probe: &str| figures.iter().find(|(name, _)| name == probe)?.1;
        super::arrange(results, &|[whole, part]| {
            let (whole, part) = (ns(whole)?, ns(part)?);
            Some([part, whole.minus(&part)])
        });
    }

    #[test]
    fn the_parts_are_what_was_measured_and_add_up() {
        let mut results = kinds();
        arrange(&mut results);
        let bill = &results[4].phases;
        let parts: Vec<_> = bill.iter().map(|part| (part.name.as_str(), part.ns.unwrap().estimate)).collect();
        assert_eq!(
            parts,
            [
                ("entry-and-return", 800.0),
                ("lookup-and-request", 19_100.0),
                ("device-wait", 60_000.0),
                ("mapping", 100.0)
            ]
        );
        let minor: Vec<f64> = results[0].phases.iter().map(|part| part.ns.unwrap().estimate).collect();
        assert_eq!(minor, [800.0, 500.0]);
        assert_eq!(results[4].proof.keys().collect::<Vec<_>>(), ["major-per-touch"]);
    }

    #[test]
    fn what_was_not_measured_stays_in_the_rest_and_without_the_wait_there_is_no_bill() {
        let mut results = kinds();
        results.remove(1);
        arrange(&mut results);
        let names: Vec<&str> = results[3].phases.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["lookup-and-request", "device-wait", "mapping"]);
        let mut alone = vec![kind("fault/major", 80_000.0, &[])];
        arrange(&mut alone);
        assert!(alone[0].phases.is_empty());
    }

    #[test]
    fn parts_by_the_kernels_stamps_are_not_replaced() {
        let mut results = kinds();
        results[0].phases = vec![Phase::new("entry", Evidence::KernelTimestamp)];
        arrange(&mut results);
        let names =
            |result: &Measurement| result.phases.iter().map(|phase| phase.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&results[0]), ["entry"]);
        results[0].phases.clear();
        arrange(&mut results);
        assert_eq!(names(&results[0]), ["entry-and-return", "page-and-mapping"]);
    }
}
