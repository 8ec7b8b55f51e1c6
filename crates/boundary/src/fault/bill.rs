//! The bills of a minor and of a major fault, from the kinds that were measured beside them.

use super::kind::{MAPPED, OFF_CPU, WALL};
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

/// Adds the bills, and moves the counts that are reported, not claimed, to the counters.
pub fn arrange(results: &mut [Measurement]) {
    move_reported(results);
    let parts = Parts::of(results);
    // A bill by the kernel's stamps is finer.
    let whole = |result: &&mut Measurement| result.probe == "fault/anonymous" && result.phases.is_empty();
    if let Some(minor) = results.iter_mut().find(whole)
        && let (Some(exception), Some(work)) = (parts.exception, parts.populated)
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

/// What the other kinds give to the bill.
struct Parts {
    /// A fault on fresh memory less the same page populated in a call: the exception and its return.
    exception: Option<Estimate>,
    /// The same page populated in a call: found, cleared and mapped.
    populated: Option<Estimate>,
    /// What each further page of a fault-around adds: one cached page put into the page table.
    mapping: Option<Estimate>,
}

impl Parts {
    fn of(results: &[Measurement]) -> Self {
        let find = |probe: &str| {
            results.iter().find(|result| result.probe == probe && result.status == Status::Measured)
        };
        let ns = |probe: &str| find(probe)?.ns;
        let exception = ns("fault/anonymous")
            .zip(ns("fault/populate-write"))
            .map(|(fault, populated)| fault.minus(&populated));
        let pages = find("fault/around").and_then(|around| around.counter(counter::MAPPED_PER_TOUCH));
        let mapping =
            ns("fault/around").zip(ns("fault/cached-page")).zip(pages).and_then(|((around, one), pages)| {
                (pages > 1.0).then(|| around.minus(&one).scaled(1.0 / (pages - 1.0)))
            });
        Self { exception, populated: ns("fault/populate-write"), mapping }
    }
}

/// The parts of a major fault; they add up to its figure.
fn phases(major: &Measurement, parts: &Parts) -> Vec<Phase> {
    let (Some(total), Some(share)) = (major.ns, off_cpu_share(major)) else { return Vec::new() };
    let wait = total.scaled(share);
    let known = Estimate::sum([parts.exception, parts.mapping].into_iter().flatten());
    let rest = total.scaled(1.0 - share).minus(&known);
    let difference = |name| move |ns| part(name, ns, Evidence::Difference);
    let mut phases: Vec<Phase> =
        parts.exception.map(difference(phase::ENTRY_AND_RETURN)).into_iter().collect();
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
            kind("fault/anonymous", 1_300.0, &[("minor_per_touch", 1.0)]),
            kind("fault/populate-write", 500.0, &[]),
            kind("fault/cached-page", 500.0, &[]),
            kind("fault/around", 2_000.0, &[("mapped_per_touch", 16.0)]),
            kind(
                "fault/major",
                80_000.0,
                &[("off_cpu_ns_per_touch", 75.0), ("wall_ns_per_touch", 100.0), ("major_per_touch", 1.0)],
            ),
        ]
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
                ("entry and return", 800.0),
                ("lookup and request", 19_100.0),
                ("device wait", 60_000.0),
                ("mapping", 100.0)
            ]
        );
        let minor: Vec<f64> = results[0].phases.iter().map(|part| part.ns.unwrap().estimate).collect();
        assert_eq!(minor, [800.0, 500.0]);
        assert_eq!(results[4].proof.keys().collect::<Vec<_>>(), ["major_per_touch"]);
    }

    #[test]
    fn what_was_not_measured_stays_in_the_rest_and_without_the_wait_there_is_no_bill() {
        let mut results = kinds();
        results.remove(1);
        arrange(&mut results);
        let names: Vec<&str> = results[3].phases.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["lookup and request", "device wait", "mapping"]);
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
        assert_eq!(names(&results[0]), ["entry and return", "page and mapping"]);
    }
}
