//! Splits the entry and the return of a crossing into the hardware's share and the kernel's, where a bare guest that
//! ran on the hardware itself measured the hardware's.

use tollgate_record::{Estimate, Evidence, Measurement, Phase, Status, warning};

/// Which of the guest's rows is the hardware's part of which of ours.
const SHARES: [(&str, &str); 5] = [
    ("syscall/clock_gettime", "hardware/syscall"),
    ("fault/anonymous", "hardware/page-fault"),
    ("fault/zero-page", "hardware/page-fault"),
    ("fault/cached-file", "hardware/page-fault"),
    ("fault/protection", "hardware/page-fault"),
];

/// Adds the guest's rows, and splits the entry and return of each row whose hardware share they measured.
pub fn add_guest(results: &mut Vec<Measurement>, guest: &[Measurement]) {
    for result in results.iter_mut() {
        // What stamps the entry changes nothing in the hardware.
        let kind = result.probe.trim_end_matches("-tracepoint");
        let share = SHARES.iter().find(|(ours, _)| *ours == kind);
        let row = share.and_then(|(_, theirs)| guest.iter().find(|row| row.probe == *theirs && native(row)));
        if let Some(row) = row {
            split(result, row, "entry", ["hardware entry", "entry code"]);
            split(result, row, "return", ["exit code", "hardware return"]);
        }
    }
    results.extend(guest.iter().cloned());
}

/// Whether the hardware itself made the guest's crossings.
fn native(row: &Measurement) -> bool {
    let by_software = row.has_warning(warning::EMULATED) || row.has_warning(warning::INTERCEPTED);
    row.status == Status::Measured && !by_software && row.engine.starts_with("kvm-")
}

/// Whether this row failed although it could have worked. What an emulator cannot do is not such a failure.
pub fn failed(results: &[Measurement], row: &Measurement) -> bool {
    let emulated = |engine: &str| {
        let marked = results.iter().any(|it| it.engine == engine && it.has_warning(warning::EMULATED));
        engine.starts_with("qemu-") || marked
    };
    row.status == Status::Failed && (row.engine == "host" || !emulated(&row.engine))
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

    #[test]
    fn a_native_guest_splits_both_ways_and_the_sum_stays() {
        let ours =
            row("syscall/clock_gettime", "host", &[("entry", 90.0), ("return", 80.0), ("unattributed", 2.0)]);
        let guest = row("hardware/syscall", "kvm-intel", &[("entry", 30.0), ("return", 20.0)]);
        let mut results = vec![ours];
        add_guest(&mut results, &[guest]);
        let found: Vec<(&str, f64)> =
            results[0].phases.iter().map(|it| (it.name.as_str(), it.ns.unwrap().estimate)).collect();
        let expected = [
            ("hardware entry", 30.0),
            ("entry code", 60.0),
            ("exit code", 60.0),
            ("hardware return", 20.0),
            ("unattributed", 2.0),
        ];
        assert_eq!(found, expected);
        assert_eq!(results[0].phases[0].evidence, Evidence::Guest);
        assert_eq!(results[0].phases[1].ns.unwrap().ci, [58.0, 62.0], "the intervals add up");
        assert_eq!(results.len(), 2);
    }

    #[test]
    fn an_emulated_guest_or_qemu_splits_nothing() {
        for engine in ["kvm-pvm", "qemu-tcg"] {
            let mut guest = row("hardware/syscall", engine, &[("entry", 30.0)]);
            guest.warnings.push(Warning::new(warning::EMULATED, "ring 0 is emulated"));
            let mut results = vec![row("syscall/clock_gettime", "host", &[("entry", 90.0)])];
            add_guest(&mut results, &[guest]);
            assert_eq!(results[0].phases.len(), 1);
            assert_eq!(results[0].phases[0].name, "entry");
            assert_eq!(results.len(), 2, "it is shown all the same");
        }
    }

    #[test]
    fn what_an_emulator_cannot_do_is_no_failure_of_the_command() {
        let failed = |engine: &str| Measurement::empty("hardware/iretq", engine, Per::Trap, Status::Failed);
        let mut emulated = row("hardware/syscall", "kvm-pvm", &[]);
        emulated.warnings.push(Warning::new(warning::EMULATED, "ring 0 is emulated"));
        let mut results = vec![row("syscall/getppid", "host", &[])];
        let ours = failed("host");
        add_guest(&mut results, &[ours, emulated, failed("kvm-pvm"), failed("kvm-amd"), failed("qemu-tcg")]);
        let left: Vec<&str> =
            results.iter().filter(|row| super::failed(&results, row)).map(|it| it.engine.as_str()).collect();
        assert_eq!(left, ["host", "kvm-amd"], "a failure on real hardware stays one");
    }
}
