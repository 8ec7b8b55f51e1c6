//! Splits the entry and the return of a crossing into the hardware's share and the kernel's, where a bare guest that
//! ran on the hardware itself measured the hardware's.

use tollgate_record::{Evidence, Measurement, Phase, PhaseName, Status, phase, warning};

/// The guest's rows that are the hardware's part of ours.
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
        // The stamp at the entry changes nothing in the hardware.
        let kind = result.probe.trim_end_matches("-tracepoint");
        let share = SHARES.iter().find(|(ours, _)| *ours == kind);
        let row = share.and_then(|(_, theirs)| guest.iter().find(|row| row.probe == *theirs && native(row)));
        if let Some(row) = row {
            split(result, row, phase::ENTRY, [(phase::HARDWARE_ENTRY, true), (phase::ENTRY_CODE, false)]);
            split(result, row, phase::RETURN, [(phase::EXIT_CODE, false), (phase::HARDWARE_RETURN, true)]);
        }
    }
    results
        .extend(guest.iter().map(|row| if beyond_emulator(row, guest) { skipped(row) } else { row.clone() }));
}

/// Whether an emulator that measured other rows cannot do this one.
fn beyond_emulator(row: &Measurement, guest: &[Measurement]) -> bool {
    let emulated = |it: &Measurement| it.engine == row.engine && it.has_warning(warning::EMULATED);
    row.status == Status::Failed && guest.iter().any(emulated)
}

fn skipped(row: &Measurement) -> Measurement {
    let enable = Some("KVM on a processor that runs the guest's ring 0 itself".into());
    Measurement { status: Status::Skipped, enable, ..row.clone() }
}

/// Whether the hardware itself made the guest's crossings.
fn native(row: &Measurement) -> bool {
    let by_software = row.has_warning(warning::EMULATED) || row.has_warning(warning::INTERCEPTED);
    row.status == Status::Measured && !by_software && row.engine.starts_with("kvm-")
}

/// Replaces the phase `of` by the hardware's share and the rest of it; `parts` says which is the hardware's.
fn split(result: &mut Measurement, row: &Measurement, of: PhaseName, parts: [(PhaseName, bool); 2]) {
    let Some(at) = result.phases.iter().position(|it| it.name == of) else { return };
    let Some(theirs) = row.phases.iter().find(|it| it.name == of) else { return };
    let whole = result.phases[at].clone();
    let part = |(name, by_hardware): (PhaseName, bool)| {
        if by_hardware {
            return Phase { name: name.into(), evidence: Evidence::Guest, ..theirs.clone() };
        }
        Phase {
            ns: whole.ns.zip(theirs.ns).map(|(whole, hardware)| whole.minus(&hardware)),
            cycles: whole.cycles.zip(theirs.cycles).map(|(whole, hardware)| whole.minus(&hardware)),
            ..Phase::new(name, Evidence::Difference)
        }
    };
    result.phases.splice(at..=at, parts.map(part));
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_record::{Estimate, Per, Warning};

    fn figure(x: f64, half: f64) -> Option<Estimate> {
        Some(Estimate::within(x, [x - half, x + half]))
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
            ("hardware-entry", 30.0),
            ("entry-code", 60.0),
            ("exit-code", 60.0),
            ("hardware-return", 20.0),
            ("unattributed", 2.0),
        ];
        assert_eq!(found, expected);
        assert_eq!(results[0].phases[0].evidence, Evidence::Guest);
        let [low, high] = results[0].phases[1].ns.unwrap().ci;
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(
            near(low, 60.0 - 2_f64.sqrt()) && near(high, 60.0 + 2_f64.sqrt()),
            "in quadrature: {low} {high}"
        );
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
        let failed = |engine: &str| Measurement {
            reason: Some("#UD in the guest".into()),
            ..Measurement::empty("hardware/iretq", engine, Per::Trap, Status::Failed)
        };
        let mut emulated = row("hardware/syscall", "kvm-pvm", &[]);
        emulated.warnings.push(Warning::new(warning::EMULATED, "ring 0 is emulated"));
        let mut results = vec![row("syscall/getppid", "host", &[]), failed("host")];
        add_guest(&mut results, &[emulated, failed("kvm-pvm"), failed("kvm-amd"), failed("qemu-tcg")]);
        let left: Vec<&str> =
            results.iter().filter(|it| it.status == Status::Failed).map(|it| it.engine.as_str()).collect();
        assert_eq!(left, ["host", "kvm-amd", "qemu-tcg"], "other failures stay failures");
        let skipped = &results[3];
        assert_eq!((skipped.status, skipped.reason.as_deref()), (Status::Skipped, Some("#UD in the guest")));
        assert!(skipped.enable.is_some());
    }
}
