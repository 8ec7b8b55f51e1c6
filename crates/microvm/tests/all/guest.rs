//! The guest under QEMU's translator and under KVM: its results, and every built-in fault.

use std::path::Path;
use std::time::Duration;
use tollgate_microvm::{
    CAPACITY, IN_TURNS, Outcome, PHASES, Params, RunError, Sabotage, Sample, Stamps, Visit, kvm, phase, qemu,
};
use tollgate_testkit::{program, skip, skip_case};

/// Far more than any run takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// For a guest that is known to hang. The tests only check that the run ends.
const SHORT: Duration = Duration::from_millis(400);
const NO_QEMU: &str = "qemu-system-x86_64 is missing: apt-get install qemu-system-x86";

fn emulated(counting: bool, params: &Params, patience: Duration) -> Result<Visit, RunError> {
    qemu::run(Path::new(qemu::PROGRAM), counting, params, patience)
}

fn samples<'a>(visit: &'a Visit, name: &str) -> &'a [Sample] {
    let row = &visit.table.rows[phase(name).expect("a phase of the list")];
    row.samples().unwrap_or_else(|| panic!("{name}: {:?}", row.why_not()))
}

/// The intervals between neighboring stamps that the phase takes.
fn intervals(stamps: Stamps, sample: &Sample) -> Vec<u32> {
    match stamps {
        Stamps::Whole => vec![sample[3].wrapping_sub(sample[0])],
        _ => sample.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect(),
    }
}

/// With `-icount shift=0` the counter advances by one for each instruction, so every interval is a number of
/// instructions in the guest's source (guests/x86/phases.S), counted by hand.
///
/// An `rdtsc` reads the counter. Around the crossing are `lfence; mov` after the first `rdtsc`, and `lfence; rdtsc`, the
/// second: 4 instructions in all. The crossing itself adds:
///
/// - page-fault: handler `mov; add; iretq`, and the read when it is repeated: 4 + 4. The read that faults does not complete, and
///   is not counted. Split: nothing before the handler's first stamp (4), `mov; add` (6), `iretq; mov` (6).
/// - undefined: `ud2; addq; iretq` (7). QEMU counts a trapping instruction that is there to trap. Split: 5, 5, 5.
/// - interrupt: `int; iretq` (6); split 5, 4, 5. syscall: `syscall; sysretq`, the same.
/// - iretq, cr3, invlpg: one instruction (5), then two reads of one instruction each (5, 5).
/// - exit-cpuid: `xor; cpuid` (6); exit-port and exit-mmio: one instruction (5).
#[test]
fn counts_under_icount_are_those_of_the_source() {
    if program(qemu::PROGRAM).is_none() {
        return skip!("{NO_QEMU}");
    }
    let visit = emulated(true, &Params::default(), PATIENCE).expect("the guest runs");
    let expected: [(&str, &[u32]); 15] = [
        ("pair-ring-0", &[4]),
        ("pair-ring-3", &[4]),
        ("page-fault", &[8]),
        ("page-fault-split", &[4, 6, 6]),
        ("undefined", &[7]),
        ("undefined-split", &[5, 5, 5]),
        ("interrupt", &[6]),
        ("interrupt-split", &[5, 4, 5]),
        ("syscall", &[6]),
        ("syscall-split", &[5, 4, 5]),
        ("iretq", &[5]),
        ("cr3", &[5, 5, 5]),
        ("invlpg", &[5, 5, 5]),
        ("exit-cpuid", &[6]),
        ("exit-port", &[5]),
    ];
    for (name, expected) in expected {
        let stamps = PHASES[phase(name).unwrap()].stamps;
        let all = samples(&visit, name);
        assert_eq!(all.len(), 128, "{name}");
        for sample in all {
            assert_eq!(intervals(stamps, sample), expected, "{name}");
        }
    }
    assert_eq!(visit.ring_ratio(), Some(1.0));
    assert!(visit.table.finished && visit.stays == tollgate_microvm::Stays::default());
    // The translator has neither tags of address spaces nor such a timer, and it rejects hypercalls.
    for (name, why) in
        [("cr3-pcid", "PCID"), ("hlt-wake", "deadline"), ("exit-hypercall", "#UD"), ("irqfd-wake", "irqfd")]
    {
        let row = &visit.table.rows[phase(name).unwrap()];
        assert!(row.why_not().is_some_and(|reason| reason.contains(why)), "{row:?}");
    }
}

#[test]
fn the_translator_s_own_time_gives_every_phase_too() {
    if program(qemu::PROGRAM).is_none() {
        return skip!("{NO_QEMU}");
    }
    let visit =
        emulated(false, &Params { samples: 16, ..Params::default() }, PATIENCE).expect("the guest runs");
    for name in
        ["page-fault-split", "undefined-split", "interrupt-split", "syscall-split", "invlpg", "exit-mmio"]
    {
        assert_eq!(samples(&visit, name).len(), 16, "{name}");
    }
}

/// Each phase begins its second turn after the last of those that take turns has ended its first, and the others have one.
#[test]
fn phases_take_turns() {
    if program(qemu::PROGRAM).is_none() {
        return skip!("{NO_QEMU}");
    }
    let visit = emulated(true, &Params::default(), PATIENCE).expect("the guest runs");
    let turn = visit.table.turn;
    assert_eq!(turn, 8, "128 samples in 16 turns");
    let of = |name| samples(&visit, name);
    let later = |from: u32, to: u32| to.wrapping_sub(from).cast_signed() > 0;
    let (first, last) = (of("pair-ring-0"), of("exit-mmio"));
    assert!(phase("exit-mmio").unwrap() < IN_TURNS);
    for number in 1..first.len() / turn {
        let begins = number * turn;
        assert!(later(last[begins - 1][3], first[begins][0]), "turn {number} begins too early");
        assert!(later(first[begins - 1][3], last[begins - turn][0]), "turn {number} of the last phase");
    }
    // As many as are asked for, also where the last turn is not full.
    let params = Params { samples: 20, ..Params::default() };
    let visit = emulated(true, &params, PATIENCE).expect("the guest runs");
    assert_eq!((visit.table.turn, samples(&visit, "undefined-split").len()), (2, 20));
}

#[test]
fn only_the_requested_phases_run() {
    if program(qemu::PROGRAM).is_none() {
        return skip!("{NO_QEMU}");
    }
    let place = phase("iretq").unwrap();
    // The guest caps the number of samples at its capacity.
    let params = Params { samples: u32::MAX, phases: 1 << place, ..Params::default() };
    let visit = emulated(true, &params, PATIENCE).expect("the guest runs");
    assert_eq!(samples(&visit, "iretq").len(), CAPACITY);
    let others = visit.table.rows.iter().filter(|row| row.meta.name != "iretq");
    assert!(others.into_iter().all(|row| row.outcome == Outcome::NotRun));
}

/// Checks the end of a broken guest: never a figure, never a hang.
fn judge(place: &str, sabotage: Sabotage, done: Result<Visit, RunError>) {
    let text = match &done {
        Ok(visit) => format!("{:?}", visit.table.rows[0].outcome),
        Err(error) => error.to_string(),
    };
    let right = match sabotage {
        Sabotage::None => done.is_ok(),
        Sabotage::TripleFault => {
            matches!(&done, Err(RunError::Ended(how)) if place == "QEMU" || how.contains("triple fault"))
        }
        Sabotage::Hang => matches!(done, Err(RunError::Hung { .. })),
        // In KVM without an interrupt controller in the kernel, the exit itself reports it.
        Sabotage::Halt => matches!(done, Err(RunError::Hung { .. } | RunError::Ended(_))),
        Sabotage::Rubbish | Sabotage::Unfinished => matches!(done, Err(RunError::Table(_))),
        Sabotage::Runaway => {
            matches!(&done, Err(RunError::Hung { .. })) || text.contains("more often than requested")
        }
        Sabotage::StrayFault => text.contains("Faulted { vector: 6"),
        Sabotage::Overcount => text.contains("257 samples, above the maximum of 256"),
    };
    assert!(right, "{place}, {sabotage:?}: {text}");
    if let (Ok(visit), Sabotage::StrayFault | Sabotage::Overcount) = (&done, sabotage) {
        assert!(!samples(visit, "pair-ring-3").is_empty(), "the other phases stay");
    }
}

const ALL: [Sabotage; 8] = [
    Sabotage::TripleFault,
    Sabotage::Hang,
    Sabotage::Rubbish,
    Sabotage::StrayFault,
    Sabotage::Overcount,
    Sabotage::Halt,
    Sabotage::Unfinished,
    Sabotage::Runaway,
];

fn broken(sabotage: Sabotage) -> (Params, Duration) {
    let hangs = matches!(sabotage, Sabotage::Hang | Sabotage::Halt | Sabotage::Runaway);
    // Leave out the phases that hang by themselves on some KVM.
    let phases = !(1 << phase("exit-hypercall").unwrap() | 1 << phase("hlt-wake").unwrap());
    let params = Params { samples: 16, phases, sabotage, ..Params::default() };
    (params, if hangs { SHORT } else { PATIENCE })
}

#[test]
fn a_broken_guest_is_an_error_under_qemu() {
    if program(qemu::PROGRAM).is_none() {
        return skip!("{NO_QEMU}");
    }
    for sabotage in ALL {
        let (params, patience) = broken(sabotage);
        judge("QEMU", sabotage, emulated(true, &params, patience));
    }
}

#[test]
fn a_broken_guest_is_an_error_under_kvm() {
    let (params, patience) = broken(Sabotage::None);
    match kvm::run(Path::new(kvm::DEVICE), &params, patience) {
        Err(RunError::NotHere { reason, enable }) => return skip!("{reason}: {enable}"),
        done => judge("KVM", Sabotage::None, done),
    }
    for sabotage in ALL {
        let (params, patience) = broken(sabotage);
        match kvm::run(Path::new(kvm::DEVICE), &params, patience) {
            Err(RunError::NotHere { reason, .. }) => skip_case!("a broken guest", "{reason}"),
            done => judge("KVM", sabotage, done),
        }
    }
}

/// What every KVM must give, whatever it supports and however slow it is.
#[test]
fn a_guest_under_kvm_gives_its_table() {
    let (params, patience) = broken(Sabotage::None);
    let visit = match kvm::run(Path::new(kvm::DEVICE), &params, patience) {
        Err(RunError::NotHere { reason, enable }) => return skip!("{reason}: {enable}"),
        done => done.expect("the guest runs"),
    };
    for name in ["pair-ring-0", "pair-ring-3", "iretq", "cr3", "invlpg", "exit-cpuid"] {
        assert_eq!(samples(&visit, name).len(), 16, "{name}");
    }
    // One exit to user space for each crossing, each with its stay.
    assert_eq!((visit.stays.port.len(), visit.stays.mmio.len()), (16, 16));
    // As many notes and answers as the guest rang, where KVM has doorbells.
    let rung = |name| visit.table.rows[phase(name).unwrap()].samples().map_or(0, <[Sample]>::len);
    assert_eq!(visit.stays.doorbells, rung("exit-ioeventfd") as u64);
    assert_eq!(visit.stays.answers.len(), rung("irqfd-wake"));
    assert_eq!(rung("irqfd-wake"), if visit.table.features.doorbells { 16 } else { 0 });
    assert!(visit.ring_ratio().is_some_and(|ratio| ratio > 0.0));
}

/// A guest that hangs in a phase keeps the earlier phases, and the reason names the hang.
#[test]
fn a_phase_that_hangs_is_named() {
    let place = phase("hlt-wake").unwrap();
    // A deadline more than a second away, beyond the guest's time limit.
    let mut params = broken(Sabotage::None).0;
    (params.deadline_ticks, params.phases) = (u32::MAX, 1 << place | 0b1111);
    let visit = match kvm::run(Path::new(kvm::DEVICE), &params, 2 * SHORT) {
        Err(RunError::NotHere { reason, enable }) => return skip!("{reason}: {enable}"),
        done => done.expect("the table so far"),
    };
    if !visit.table.features.deadline {
        return skip!("this KVM has no timer with a TSC deadline");
    }
    assert!(!visit.table.finished);
    assert_eq!(visit.table.rows[place].outcome, Outcome::Stuck);
    assert!(visit.table.rows[place].why_not().is_some_and(|why| why.contains("hung")));
    assert_eq!(samples(&visit, "pair-ring-0").len(), 16);
}
