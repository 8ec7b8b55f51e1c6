//! What the hardware's share of a way in and out is, where a bare guest that really ran on the hardware
//! tells it.

use tollgate_microvm::hardware::{EMULATED, is_hardware};
use tollgate_record::{Estimate, Evidence, Measurement, Phase, Run, Status};

/// Which of the guest's rows is the hardware's part of which of ours.
const SHARES: [(&str, &str); 5] = [
    ("syscall/clock_gettime", "hardware/syscall"),
    ("fault/anonymous", "hardware/page-fault"),
    ("fault/zero-page", "hardware/page-fault"),
    ("fault/cached-file", "hardware/page-fault"),
    ("fault/protection", "hardware/page-fault"),
];

/// Puts the guest's rows behind ours, and splits the ways in and out of those that they know the hardware's
/// share of.
pub(super) fn finish(run: &mut Run, hardware: &[Measurement]) {
    for result in &mut run.results {
        // What stamps the entry changes nothing in the hardware.
        let kind = result.probe.trim_end_matches("-tracepoint");
        let share = SHARES.iter().find(|(ours, _)| *ours == kind);
        let row =
            share.and_then(|(_, theirs)| hardware.iter().find(|row| row.probe == *theirs && native(row)));
        if let Some(row) = row {
            split(result, row, "entry", ["hardware entry", "entry code"]);
            split(result, row, "return", ["exit code", "hardware return"]);
        }
    }
    run.results.extend(hardware.iter().cloned());
}

/// Whether the hardware itself made the guest's crossings.
fn native(row: &Measurement) -> bool {
    is_hardware(row) && row.engine.starts_with("kvm-")
}

/// The run without guests' rows that failed where an emulator is at work: what an emulator cannot do is no
/// failure of what was asked for.
pub(super) fn asked_for(run: &Run) -> Run {
    let emulated = |engine: &str| {
        let marked = run.results.iter().any(|it| it.engine == engine && it.has_warning(EMULATED));
        engine.starts_with("qemu-") || marked
    };
    let mut asked = run.clone();
    asked.results.retain(|it| it.status != Status::Failed || it.engine == "host" || !emulated(&it.engine));
    asked
}

/// Replaces the phase `of` by the hardware's share and what is left, in the order of `names`.
fn split(result: &mut Measurement, row: &Measurement, of: &str, names: [&str; 2]) {
    let Some(at) = result.phases.iter().position(|phase| phase.name == of) else { return };
    let Some(theirs) = row.phases.iter().find(|phase| phase.name == of) else { return };
    let whole = result.phases[at].clone();
    let make = |name: &str| {
        let mut phase = if name.starts_with("hardware") {
            Phase { name: name.into(), evidence: Evidence::Guest, ..theirs.clone() }
        } else {
            Phase::new(name, Evidence::Difference)
        };
        if !name.starts_with("hardware") {
            phase.ns = whole.ns.zip(theirs.ns).map(|(whole, part)| less(&whole, &part));
            phase.cycles = whole.cycles.zip(theirs.cycles).map(|(whole, part)| less(&whole, &part));
        }
        phase
    };
    result.phases.splice(at..=at, names.map(make));
}

/// A difference of two figures, signed; their intervals add up.
fn less(whole: &Estimate, part: &Estimate) -> Estimate {
    let shift = |value: f64| value - part.estimate;
    Estimate {
        estimate: shift(whole.estimate),
        ci: [whole.ci[0] - part.ci[1], whole.ci[1] - part.ci[0]],
        min: shift(whole.min),
        p10: shift(whole.p10),
        p50: shift(whole.p50),
        p90: shift(whole.p90),
        p99: shift(whole.p99),
        mean: shift(whole.mean),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_record::{Per, Warning};

    fn figure(x: f64, half: f64) -> Option<Estimate> {
        Some(Estimate {
            estimate: x,
            ci: [x - half, x + half],
            min: x,
            p10: x,
            p50: x,
            p90: x,
            p99: x,
            mean: x,
        })
    }

    fn row(probe: &str, engine: &str, parts: &[(&str, f64)]) -> Measurement {
        let mut row = Measurement::empty(probe, engine, Per::Syscall, Status::Measured);
        let phase = |&(name, ns): &(&str, f64)| Phase {
            ns: figure(ns, 1.0),
            ..Phase::new(name, Evidence::KernelTimestamp)
        };
        row.phases = parts.iter().map(phase).collect();
        row
    }

    fn run(result: Measurement) -> Run {
        let mut run = crate::run::new_record(tollgate_measure::host::here(), 1);
        run.results = vec![result];
        run
    }

    #[test]
    fn a_native_guest_splits_both_ways_and_the_sum_stays() {
        let ours =
            row("syscall/clock_gettime", "host", &[("entry", 90.0), ("return", 80.0), ("unattributed", 2.0)]);
        let guest = row("hardware/syscall", "kvm-intel", &[("entry", 30.0), ("return", 20.0)]);
        let mut run = run(ours);
        finish(&mut run, &[guest]);
        let found: Vec<(&str, f64)> =
            run.results[0].phases.iter().map(|it| (it.name.as_str(), it.ns.unwrap().estimate)).collect();
        let expected = [
            ("hardware entry", 30.0),
            ("entry code", 60.0),
            ("exit code", 60.0),
            ("hardware return", 20.0),
            ("unattributed", 2.0),
        ];
        assert_eq!(found, expected);
        assert_eq!(run.results[0].phases[0].evidence, Evidence::Guest);
        assert_eq!(run.results[0].phases[1].ns.unwrap().ci, [58.0, 62.0], "the intervals add up");
        assert_eq!(run.results.len(), 2);
    }

    #[test]
    fn an_emulated_guest_or_qemu_splits_nothing() {
        for engine in ["kvm-pvm", "qemu-tcg"] {
            let mut guest = row("hardware/syscall", engine, &[("entry", 30.0)]);
            guest.warnings.push(Warning::new(EMULATED, "ring 0 is emulated"));
            let mut run = run(row("syscall/clock_gettime", "host", &[("entry", 90.0)]));
            finish(&mut run, &[guest]);
            assert_eq!(run.results[0].phases.len(), 1);
            assert_eq!(run.results[0].phases[0].name, "entry");
            assert_eq!(run.results.len(), 2, "it is shown all the same");
        }
    }

    #[test]
    fn what_an_emulator_cannot_do_is_no_failure_of_the_command() {
        let failed = |engine: &str| Measurement::empty("hardware/iretq", engine, Per::Trap, Status::Failed);
        let mut emulated = row("hardware/syscall", "kvm-pvm", &[]);
        emulated.warnings.push(Warning::new(EMULATED, "ring 0 is emulated"));
        let mut run = run(row("syscall/getppid", "host", &[]));
        finish(&mut run, &[emulated, failed("kvm-pvm"), failed("kvm-amd"), failed("qemu-tcg")]);
        let left: Vec<String> = asked_for(&run).results.into_iter().map(|it| it.engine).collect();
        assert_eq!(left, ["host", "kvm-pvm", "kvm-amd"], "a failure on real hardware stays one");
    }
}
