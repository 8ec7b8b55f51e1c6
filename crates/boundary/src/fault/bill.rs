//! The bills of a minor and of a major fault, out of the kinds that were measured beside it.

use tollgate_record::{Estimate, Evidence, Measurement, Phase, Status, counter};

/// What the probes tell without claiming it belongs to the counters, not to the proof.
const TOLD: [&str; 3] = ["mapped_per_touch", "off_cpu_ns_per_touch", "wall_ns_per_touch"];

/// Moves what was told, not claimed, to the counters, and makes the bill.
pub fn arrange(results: &mut [Measurement]) {
    for result in results.iter_mut() {
        for key in TOLD {
            if let Some(count) = result.proof.remove(key) {
                result.counters.insert(key.into(), count);
            }
        }
    }
    let parts = Parts::of(results);
    // Its own stamps tell more, where the kernel gives them.
    let whole = |result: &&mut Measurement| result.probe == "fault/anonymous" && result.phases.is_empty();
    if let Some(minor) = results.iter_mut().find(whole)
        && let (Some(exception), Some(work)) = (parts.exception, parts.populated)
    {
        minor.phases = vec![
            phase("entry and return", exception, Evidence::Difference),
            phase("page and mapping", work, Evidence::Measured),
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
            .map(|(fault, populated)| difference(&fault, &populated));
        let pages = find("fault/around").and_then(|around| around.counter(counter::MAPPED_PER_TOUCH));
        let mapping =
            ns("fault/around").zip(ns("fault/cached-page")).zip(pages).and_then(|((around, one), pages)| {
                (pages > 1.0).then(|| difference(&around, &one).scaled(1.0 / (pages - 1.0)))
            });
        Self { exception, populated: ns("fault/populate-write"), mapping }
    }
}

/// The parts of a major fault; they add up to its figure.
fn phases(major: &Measurement, parts: &Parts) -> Vec<Phase> {
    let (Some(total), Some(share)) = (major.ns, off_cpu_share(major)) else { return Vec::new() };
    let wait = total.scaled(share);
    let mut rest = difference(&total, &wait);
    let mut known = Vec::new();
    for (name, part) in [("entry and return", parts.exception), ("mapping", parts.mapping)] {
        if let Some(part) = part {
            rest = difference(&rest, &part);
            known.push(phase(name, part, Evidence::Difference));
        }
    }
    let mapping = known.iter().position(|phase| phase.name == "mapping").map(|at| known.remove(at));
    known.push(phase("lookup and request", rest, Evidence::Difference));
    known.push(phase("device wait", wait, Evidence::Measured));
    known.extend(mapping);
    known
}

/// The share of the time in which the thread was off the CPU.
fn off_cpu_share(result: &Measurement) -> Option<f64> {
    let count = |key: &str| result.counters.get(key).copied();
    let share = count("off_cpu_ns_per_touch")? / count("wall_ns_per_touch")?;
    share.is_finite().then_some(share)
}

fn phase(name: &str, ns: Estimate, evidence: Evidence) -> Phase {
    Phase { ns: Some(ns), ..Phase::new(name, evidence) }
}

/// A difference of two figures that were measured apart. Quantiles of the one have nothing to do with those
/// of the other, so that only the figure and the interval say something.
fn difference(of: &Estimate, less: &Estimate) -> Estimate {
    let half = |it: &Estimate| (it.ci[1] - it.ci[0]) / 2.0;
    let (middle, error) = (of.estimate - less.estimate, half(of).hypot(half(less)));
    Estimate {
        estimate: middle,
        ci: [middle - error, middle + error],
        min: middle,
        p10: middle,
        p50: middle,
        p90: middle,
        p99: middle,
        mean: middle,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_record::Per;

    fn kind(probe: &str, ns: f64, told: &[(&str, f64)]) -> Measurement {
        let mut kind = Measurement::empty(probe, "host", Per::Touch, Status::Measured);
        let ci = [ns - 1.0, ns + 1.0];
        kind.ns = Some(Estimate { estimate: ns, ci, min: ns, p10: ns, p50: ns, p90: ns, p99: ns, mean: ns });
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
