//! The same images on other engines, where they are installed.

use tollgate_lab::{Crossing, DESIGNS, Design, Embedded, Engine, Experiment, LabError, QEMU, SPIKE, USUAL};
use tollgate_testkit::{program, skip};

/// Every design with its own crossing, and all calls on the first.
fn experiments() -> Vec<Experiment<'static>> {
    let iterations = 5;
    let call = Crossing::Call(172);
    let own = Design::named().map(|design| Experiment {
        design,
        crossing: design.crossing.unwrap_or(call),
        iterations,
    });
    let calls = USUAL.iter().map(|&crossing| Experiment { design: &DESIGNS[0], crossing, iterations });
    own.chain(calls).collect()
}

/// Compares an engine with the embedded machine; it counts `more` for each ecall from user mode.
fn agrees(engine: &dyn Engine, more: u64) {
    let mut compared = 0;
    for experiment in experiments() {
        let name = format!("{}, {}", experiment.design.name, experiment.crossing.slug());
        let theirs = match engine.measure(&experiment) {
            Err(LabError::NotHere { .. }) => continue,
            other => other.expect(&name),
        };
        let ours = Embedded.measure(&experiment).expect(&name);
        let more = if experiment.crossing == Crossing::SoftInterrupt { 0 } else { more };
        assert_eq!(theirs.spread.single, ours.spread.single + more, "{name}");
        assert_eq!(theirs.spread.min, ours.spread.min + more, "{name}");
        assert_eq!(theirs.spread.max, ours.spread.max + more, "{name}");
        assert_eq!(theirs.result, ours.result, "{name}");
        compared += 1;
    }
    assert!(compared > 10, "{compared} compared");
}

#[test]
fn qemu_counts_one_more_for_each_trapping_ecall() {
    if program("qemu-system-riscv64").is_none() {
        return skip!("qemu-system-riscv64 is missing: apt-get install qemu-system-misc");
    }
    agrees(&QEMU, 1);
}

#[test]
fn spike_counts_the_same() {
    if program("spike").is_none() {
        return skip!("spike is missing: build riscv-isa-sim and put spike on PATH");
    }
    agrees(&SPIKE, 0);
}

#[test]
fn what_an_engine_cannot_do_is_skipped_and_not_guessed() {
    for engine in [&QEMU as &dyn Engine, &SPIKE] {
        for name in ["bank", "stack", "clic", "timer-same"] {
            let error = refused(engine, name);
            assert!(error.is_skip(), "{error}");
        }
    }
    assert_eq!(
        refused(&QEMU, "vector-lazy").to_string(),
        "qemu cannot measure this: this engine is started as rv64gc, and the kernel needs more"
    );
}

fn refused(engine: &dyn Engine, name: &str) -> LabError {
    let design = Design::find(name).expect("a design");
    let crossing = design.crossing.unwrap_or(Crossing::Call(172));
    engine.measure(&Experiment { design, crossing, iterations: 1 }).expect_err(name)
}
