//! Witnesses of the timed cores: what each of them counted for many programs when it was last recorded. A change of a core that
//! is not meant to change its figures must leave them as they are. A program of its own: who changes a core builds and
//! runs it alone.
//!
//! `cargo test -p tollgate-lab --test witness` runs the programs of the RTL corpus, the lab's guests and 200 random programs
//! on each core; `... --test witness rocket` on one. With `TOLLGATE_ALL=1` there are 1,000 random programs, and 100 million
//! instructions of the kernel at `TOLLGATE_LINUX`. `cargo xtask bless witnesses` writes `witnesses/*.txt` anew, with all.

#[path = "../../riscv/tests/common/mod.rs"]
mod common;
#[path = "witness/figures.rs"]
mod figures;
#[path = "all/lockstep/program.rs"]
mod lockstep;
#[path = "witness/model.rs"]
mod model;
#[path = "witness/programs.rs"]
mod programs;

use std::collections::BTreeMap;
use std::env;

use figures::{Digest, Figures, Lines, Program};
use model::{Attached, Interrupted, Passages, Quick};
use programs::{Case, corpus, experiments, guest, linux, random, whole};
use tollgate_cores::Core;
use tollgate_lab::rtl::Raise;
use tollgate_lab::workload::{self, Point, WORKLOADS};
use tollgate_lab::{CycleBill, Embedded, latency};
use tollgate_riscv::{Step, Stop};
use tollgate_testkit::Recorded;

macro_rules! cores {
    ($($test:ident $preset:literal),+ $(,)?) => {
        $(#[test]
        fn $test() {
            compare($preset);
        })+

        #[test]
        fn each_core_has_a_witness() {
            let mut tested = [$($preset),+];
            tested.sort_unstable();
            let mut presets = Core::PRESETS.to_vec();
            presets.sort_unstable();
            assert_eq!(tested[..], presets[..]);
        }
    };
}

cores! {
    cva6 "cva6",
    cv32e40x "cv32e40x",
    ibex "ibex",
    ideal "ideal",
    picorv32 "picorv32",
    ripes_5stage "ripes-5stage",
    ripes_5stage_noforward "ripes-5stage-noforward",
    rocket "rocket",
    single_cycle "single-cycle",
    spike "spike",
    vexriscv "vexriscv",
}

/// Whether everything is compared, not only what takes a few seconds a core.
fn all() -> bool {
    Recorded::is_blessing() || tollgate_testkit::all()
}

fn compare(preset: &str) {
    let core = Core::preset(preset).expect("a preset");
    let mut groups: BTreeMap<String, Vec<Program>> = BTreeMap::new();
    let randoms = if all() { 1_000 } else { 200 };
    for case in corpus(&core).into_iter().chain(random(&core, 0..randoms)) {
        let program = witness(&case);
        groups.entry(case.group).or_default().push(program);
    }
    for experiment in experiments() {
        let case = guest(&core, &experiment);
        let mut program = witness(&case);
        program.digests[3] = bill(&Embedded.measure_cycles(&experiment, &core).expect(&case.name));
        groups.entry(case.group).or_default().push(program);
    }
    if all() {
        for case in whole(&core) {
            let program = Program { figures: quick(&case), digests: Default::default(), name: case.name };
            groups.entry(case.group).or_default().push(program);
        }
    }
    let mut lines = Lines::default();
    groups.into_iter().for_each(|(group, programs)| lines.add(group, &programs));
    lines.note("workloads", workloads(&core));
    lines.note("latency", interrupt_latency(&core));
    lines.check(preset);
}

/// The kernel whose boot is recorded.
const KERNEL: &str = "/boot/vmlinux of Debian's linux-image-6.12.117+deb13-riscv64";

/// The boot of a kernel on each core.
#[test]
fn linux_boots_as_recorded() {
    let Some(kernel) = env::var_os("TOLLGATE_LINUX").filter(|_| all()) else {
        return tollgate_testkit::skip!("TOLLGATE_ALL is not 1 or TOLLGATE_LINUX does not name {KERNEL}");
    };
    let image = std::fs::read(&kernel).expect("the kernel's image");
    let mut lines = Lines::default();
    let digest = Digest::of(&image).short().into();
    lines.note("image", vec![("bytes".into(), image.len() as u64), ("digest".into(), digest)]);
    if !Recorded::is_blessing() && !lines.differences("linux").is_empty() {
        return tollgate_testkit::skip!("TOLLGATE_LINUX does not name {KERNEL}");
    }
    let cores: Vec<Core> = Core::PRESETS.iter().map(|name| Core::preset(name).expect("a preset")).collect();
    let boots = std::thread::scope(|scope| {
        let boots: Vec<_> = cores.iter().map(|core| scope.spawn(|| boot(core, &image))).collect();
        boots.into_iter().map(|boot| boot.join().expect("booted")).collect::<Vec<_>>()
    });
    for (core, windows) in cores.iter().zip(boots) {
        for (&(name, _), figures) in WINDOWS.iter().zip(windows) {
            let program = Program { name: name.into(), figures, digests: Default::default() };
            lines.add(format!("{} {name}", core.name), &[program]);
        }
    }
    lines.check("linux");
}

/// Parts of the boot, by the instruction behind which the core is attached: the first, which has no interrupts yet, and one
/// with the timer, kernel threads and cryptography.
const WINDOWS: [(&str, u64); 2] = [("from 0", 0), ("from 350 million", 350_000_000)];
/// Instructions of each.
const WINDOW: u64 = 50_000_000;

fn boot(core: &Core, image: &[u8]) -> Vec<Figures> {
    let mut machine = linux(core, image);
    let windows = WINDOWS.iter().map(|&(_, from)| {
        machine.run(from - machine.instret(), &mut ());
        let mut quick = Quick::new(core, &machine.code());
        assert_eq!(quick.run(&mut machine, WINDOW), Stop::Budget);
        quick.figures()
    });
    windows.collect()
}

/// Runs a program on its core: with phases and passages, without, with an interruption, and from a cold start in its middle.
fn witness(case: &Case) -> Program {
    let code = case.code();
    let mut attached = Attached::new(&case.core, &code, Passages::default());
    attached.run(&mut case.machine(), case.steps);
    let figures = attached.figures();
    if all() {
        assert_eq!(figures, quick(case), "{} {}: with and without phases", case.group, case.name);
    }
    let cold = {
        let (mut attached, mut machine) = (Attached::new(&case.core, &code, ()), case.machine());
        attached.run(&mut machine, case.steps.min(2_000) / 2);
        attached.make_cold();
        attached.run(&mut machine, case.steps.min(2_000) / 2);
        let mut digest = Digest::default();
        digest.add(&attached.figures().columns);
        digest
    };
    let results = case.raise.map_or_else(Digest::default, |raise| latencies(case, raise));
    Program {
        name: case.name.clone(),
        digests: [attached.phases(), attached.passages(), cold, results],
        figures,
    }
}

/// Runs a program without phases, as long programs are.
fn quick(case: &Case) -> Figures {
    let mut quick = Quick::new(&case.core, &case.code());
    quick.run(&mut case.machine(), case.steps);
    quick.figures()
}

/// How long an interrupt takes to its handler, from each cycle of a loop.
fn latencies(case: &Case, raise: Raise) -> Digest {
    let mut machine = case.machine();
    if raise.controller != 0 {
        // The machine has no controller: the line goes to the core.
        machine.write_memory(raise.controller, &[0; 4]).expect("in RAM");
    }
    let mut core = Interrupted::new(&case.core, &case.code());
    let mut digest = Digest::default();
    for behind in 1..=raise.phases {
        let (mut passes, mut due, mut raised) = (0, None, false);
        for _ in 0..100_000 {
            if let Some(due) = due
                && !raised
                && core.interrupts(&machine, due)
            {
                machine.set_external_interrupt(true);
                raised = true;
            }
            let pc = machine.pc();
            match core.step(&mut machine) {
                Step::Trapped if raised => {
                    machine.set_external_interrupt(false);
                    core.step(&mut machine);
                    break;
                }
                Step::Retired if pc == raise.at && due.is_none() => {
                    passes += 1;
                    due = (passes == raise.every).then(|| core.cycles() + behind);
                }
                Step::Stopped(stop) => panic!("{}: {stop:?}", case.name),
                _ => {}
            }
        }
        assert!(raised, "{}: interrupted", case.name);
        digest.add(&[core.cycles() - due.expect("raised")]);
    }
    digest
}

/// What the lab says of a crossing.
fn bill(bill: &CycleBill) -> Digest {
    let mut digest = Digest::default();
    let cycles = &bill.cycles;
    [&cycles.cold, &cycles.warm].iter().flat_map(|it| it.rows()).for_each(|row| digest.add(row));
    cycles.each.iter().for_each(|(cycles, times)| digest.add(&[*cycles, *times]));
    if let Some(after) = &cycles.after {
        digest.add(&after.more.map(i64::cast_unsigned));
        digest.add(&[after.returns, after.recovery, after.instructions, after.steady]);
        digest.add(&after.lost.named().map(|(_, lost)| lost.cast_unsigned()));
    }
    digest
}

/// The slow-down of each workload by a kernel that touches memory, beside its twin.
fn workloads(core: &Core) -> Vec<(String, u64)> {
    let measured = WORKLOADS.iter().map(|workload| {
        let point = Point { workload, set: 8 << 10, every: 1_000, touch: 4 << 10, traps: 8 };
        let it = workload::measure(&point, core).expect("a run");
        let mut digest = Digest::default();
        digest.add(&it.direct);
        digest.add(&it.refill.map(i64::cast_unsigned));
        digest.add(&it.lost.named().map(|(_, lost)| lost.cast_unsigned()));
        let name = &workload.name;
        [
            (format!("{name}-alone"), it.alone),
            (format!("{name}-with-traps"), it.with_traps),
            (format!("{name}-direct"), it.direct()),
            (format!("{name}-digest"), digest.short().into()),
        ]
    });
    measured.flatten().collect()
}

/// The latencies of interrupts at every cycle of the lab's loop, and how often each occurs.
fn interrupt_latency(core: &Core) -> Vec<(String, u64)> {
    let it = latency::measure(core, 60).expect("latencies");
    let each = it.cycles.iter().map(|(cycles, times)| (format!("cycles-{cycles}"), *times));
    each.chain([("first-fetch".into(), it.first_fetch.cast_unsigned()), ("period".into(), it.period)])
        .collect()
}
