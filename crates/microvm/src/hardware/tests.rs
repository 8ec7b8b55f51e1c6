//! Figures from invented stamps, whose results are known.

use super::*;
use crate::{Features, IN_TURNS, Row, Sample, Stamps, Stays, Table};
use tollgate_measure::clock::Scale;
use tollgate_record::{Evidence, warning};

/// Whether the hardware made a figure, so that it is comparable with figures of the host.
fn is_hardware(result: &Measurement) -> bool {
    result.status == Status::Measured
        && !result.has_warning(warning::EMULATED)
        && !result.has_warning(warning::INTERCEPTED)
}

/// A tick is half a nanosecond.
const UNITS: Units = Units { scale: Scale { hz: 2.0e9 }, ticks: true, core: None, core_spread: 0.0 };
/// The time of an empty pair in [`visit`].
const PAIR: u32 = 40;
const COUNT: usize = 128;

/// Samples whose stamps are `gaps` apart, beginning just before the 32 bits wrap.
fn stamps(shape: Stamps, gaps: [u32; 3]) -> Vec<Sample> {
    let start = u32::MAX - 20;
    let mut sample = [start; 4];
    for stamp in 1..4 {
        sample[stamp] = sample[stamp - 1].wrapping_add(gaps[stamp - 1]);
    }
    if shape == Stamps::Whole {
        (sample[1], sample[2]) = (0, 0);
    }
    if shape == Stamps::Answer {
        sample[1] = 0;
    }
    vec![sample; COUNT]
}

/// One run of the guest: a whole trap takes 1,000 more than a pair, its parts 600, 2 and 300; `cr3` 200 and 70 for the refill; an exit to
/// the kernel 2,000, with a note in an eventfd 2,600, to the monitor 9,000, of which it keeps 50; a wake-up is 5,000 late; a doorbell is answered
/// after 12,000, which takes 60, and the handler runs 20,000 after it was rung.
fn visit() -> Visit {
    let rows = PHASES.iter().map(|meta| {
        let gaps = match (meta.stamps, meta.name) {
            (_, "pair-ring-0" | "pair-ring-3") => [PAIR, 0, 0],
            (_, "exit-cpuid" | "exit-hypercall") => [2_000 + PAIR, 0, 0],
            (_, "exit-ioeventfd") => [2_600 + PAIR, 0, 0],
            (_, "exit-port" | "exit-mmio") => [9_000 + PAIR, 0, 0],
            (Stamps::Whole, _) => [1_000 + PAIR, 0, 0],
            (Stamps::Split, _) => [600 + PAIR, 2 + PAIR, 300 + PAIR],
            (Stamps::Flush, _) => [200 + PAIR, 110, 40],
            (Stamps::Wake, _) => [1_000_000, 5_000, 700],
            (Stamps::Answer, _) => [0, 20_000, 700],
        };
        Row { meta, outcome: Outcome::Done(stamps(meta.stamps, gaps)) }
    });
    let features = Features { pcid: true, deadline: true, hypervisor: true, amd: false, doorbells: true };
    let table = Table { features, finished: true, turn: 8, rows: rows.collect() };
    // Where the invented stamps begin; the monitor's have more than 32 bits.
    let rung = (7 << 32) + u64::from(u32::MAX - 20);
    let stays = Stays {
        port: vec![50; COUNT],
        mmio: vec![50; COUNT],
        doorbells: COUNT as u64,
        answers: vec![[rung + 12_000, rung + 12_060]; COUNT],
        one_clock: true,
    };
    Visit { table, stays }
}

fn scene(engine: Engine, visits: &[Visit]) -> Vec<Measurement> {
    let scene = Scene { engine, visits, units: Some(&UNITS), hypervisor: None };
    HARDWARE_ROWS.iter().map(|row| scene.row(row)).collect()
}

fn find<'a>(all: &'a [Measurement], probe: &str) -> &'a Measurement {
    all.iter().find(|row| row.probe == probe).unwrap_or_else(|| panic!("no row {probe}"))
}

/// The row's headline in ticks, and its parts in nanoseconds.
fn figures(row: &Measurement) -> (f64, Vec<(&str, f64)>) {
    let parts = row.phases.iter().map(|part| (part.name.as_str(), part.ns.unwrap().estimate)).collect();
    (row.ticks.unwrap_or_else(|| panic!("{}: {:?}", row.probe, row.reason)).estimate, parts)
}

#[test]
fn a_crossing_is_its_stamps_less_a_pair_and_its_parts_add_up() {
    let all = scene(Engine::KvmIntel, &vec![visit(); 6]);
    for probe in ["page-fault", "undefined", "interrupt", "syscall"] {
        let row = find(&all, &format!("hardware/{probe}"));
        // 1,000 - 600 - 2 - 300 = 98 ticks are not in any part.
        let parts = vec![("entry", 300.0), ("handler", 1.0), ("return", 150.0), ("unattributed", 49.0)];
        assert_eq!(figures(row), (1_000.0, parts), "{probe}");
        assert_eq!(row.phases[0].evidence, Evidence::Guest);
        assert_eq!(row.phases[3].evidence, Evidence::Difference);
        assert_eq!(row.proof["handled-per-crossing"], 1.0);
        assert_eq!((row.engine.as_str(), row.samples, row.crossings), ("kvm-intel", 6, 6 * 112));
        assert!(row.warnings.is_empty() && is_hardware(row), "{:?}", row.warnings);
        let single = row.single.unwrap();
        assert_eq!((single.p50, single.pair_overhead_ns, single.count), (500.0, 20.0, 6 * 112));
    }
    let flush = (270.0, vec![("instruction", 100.0), ("refill", 35.0)]);
    for probe in ["hardware/cr3", "hardware/cr3-pcid", "hardware/invlpg"] {
        assert_eq!(figures(find(&all, probe)), flush, "{probe}");
    }
    let out = (9_000.0, vec![("exit and entry", 1_000.0), ("monitor", 25.0), ("user space", 3_475.0)]);
    for probe in ["hardware/exit-port", "hardware/exit-mmio"] {
        assert_eq!(figures(find(&all, probe)), out, "{probe}");
        assert_eq!(find(&all, probe).proof["exits-per-crossing"], 1.0);
    }
    assert_eq!(figures(find(&all, "hardware/exit-cpuid")).0, 2_000.0);
    assert_eq!(figures(find(&all, "hardware/hlt-wake")).0, 5_000.0);
    let doorbell = find(&all, "hardware/exit-ioeventfd");
    assert_eq!(figures(doorbell), (2_600.0, vec![("exit and entry", 1_000.0), ("eventfd", 300.0)]));
    assert_eq!(doorbell.proof["exits-per-crossing"], 1.0);
    let answer = find(&all, "hardware/irqfd-wake");
    // 20,700 = 12,000 + 60 + 7,940 + 700.
    let parts = vec![
        ("to monitor", 6_000.0),
        ("monitor", 30.0),
        ("to handler", 3_970.0),
        ("to next instruction", 350.0),
        ("unattributed", 0.0),
    ];
    assert_eq!(figures(answer), (20_700.0, parts));
    assert_eq!(answer.proof["answers-per-crossing"], 1.0);
    assert_eq!(figures(find(&all, "hardware/pair")), (40.0, vec![("ring 3", 20.0), ("ring 0", 20.0)]));
}

/// An emulator on a busy machine gets one visit.
#[test]
fn one_visit_has_figures_without_intervals_and_no_single_crossings() {
    for row in scene(Engine::KvmIntel, &[visit()]).iter().filter(|row| row.status == Status::Measured) {
        assert!(row.ns.is_none_or(|ns| !ns.is_measured()), "{}", row.probe);
        // A row whose crossings are the whole interval subtracts no pair.
        assert!(row.single.is_none_or(|single| single.pair_overhead_error_ns == 0.0), "{}", row.probe);
    }
}

/// Emulated rows carry the warning, however short their times are.
#[test]
fn an_emulated_ring_0_is_never_hardware() {
    let mut slow = visit();
    slow.table.rows[0].outcome = Outcome::Done(stamps(Stamps::Whole, [100 * PAIR, 0, 0]));
    for (engine, visits) in [
        (Engine::KvmAmd, vec![slow; 6]),
        (Engine::KvmPvm, vec![visit(); 6]),
        (Engine::QemuTcg, vec![visit(); 6]),
    ] {
        for row in scene(engine, &visits) {
            assert!(row.has_warning(warning::EMULATED) && !is_hardware(&row), "{} {}", row.engine, row.probe);
        }
    }
}

/// KVM intercepts #UD and, without nested paging, page faults: the trap then contains an exit.
#[test]
fn what_the_hypervisor_intercepts_is_not_the_processor_s() {
    let mut visit = visit();
    let place = phase("undefined-split").unwrap();
    visit.table.rows[place].outcome =
        Outcome::Done(stamps(Stamps::Split, [2_100 + PAIR, 2 + PAIR, 300 + PAIR]));
    let all = scene(Engine::KvmAmd, &vec![visit; 6]);
    for (probe, intercepted) in [("undefined", true), ("page-fault", false), ("cr3", false)] {
        let row = find(&all, &format!("hardware/{probe}"));
        assert_eq!(
            (row.has_warning(warning::INTERCEPTED), is_hardware(row)),
            (intercepted, !intercepted),
            "{probe}"
        );
    }
}

#[test]
fn exits_on_a_host_that_is_a_guest_have_a_warning() {
    let visits = vec![visit(); 6];
    let scene =
        |name| Scene { engine: Engine::KvmAmd, visits: &visits, units: Some(&UNITS), hypervisor: Some(name) };
    let (trap, exit) = (&HARDWARE_ROWS[1], HARDWARE_ROWS.iter().find(|row| row.shape.exits()).unwrap());
    assert!(
        scene("KVM").row(exit).has_warning(warning::NESTED)
            && !scene("KVM").row(trap).has_warning(warning::NESTED)
    );
    assert!(is_hardware(&scene("KVM").row(exit)));
    assert!(scene("QEMU TCG").row(trap).has_warning(warning::EMULATED));
}

#[test]
fn a_failed_phase_affects_only_its_own_row() {
    let mut broken = visit();
    let set =
        |visit: &mut Visit, name: &str, outcome| visit.table.rows[phase(name).unwrap()].outcome = outcome;
    let fault = Outcome::Faulted { vector: 13, error: 0, rip: 0x10_0000, cr2: 0, after: 0 };
    set(&mut broken, "syscall-split", fault);
    set(&mut broken, "cr3-pcid", Outcome::Unsupported);
    set(&mut broken, "exit-hypercall", Outcome::Stuck);
    set(&mut broken, "invlpg", Outcome::Invalid("stamps".into()));
    // One exit without a count.
    broken.stays.port.pop();
    let all = scene(Engine::KvmIntel, &vec![broken.clone(); 6]);
    for (probe, status, says) in [
        ("hardware/syscall", Status::Failed, "#GP"),
        ("hardware/cr3-pcid", Status::Skipped, "PCID"),
        ("hardware/exit-hypercall", Status::Failed, "hung"),
        ("hardware/invlpg", Status::Failed, "invalid row"),
        ("hardware/exit-port", Status::Failed, "no sample could be used"),
    ] {
        let row = find(&all, probe);
        assert_eq!(row.status, status, "{probe}");
        assert!(row.reason.as_ref().is_some_and(|reason| reason.contains(says)), "{probe}: {:?}", row.reason);
        assert_eq!(row.enable.is_some(), status == Status::Skipped, "{probe}");
        assert!(row.ns.is_none() && row.ticks.is_none() && row.phases.is_empty());
    }
    assert_eq!(find(&all, "hardware/page-fault").status, Status::Measured);
    // Some working machines are enough for a row; it warns about the others.
    let mixed = scene(Engine::KvmIntel, &[vec![visit(); 6], vec![broken]].concat());
    assert!(find(&mixed, "hardware/syscall").has_warning(warning::SOME_FAILED));
    let alone = &scene(Engine::KvmIntel, &[visit()])[1].warnings;
    let few = alone.iter().find(|it| it.code == warning::FEW_EPOCHS).unwrap();
    assert!(few.text.starts_with("1 virtual machine only"), "{}", few.text);
}

/// A deadline that passed before the halt did not wake the guest.
#[test]
fn only_a_guest_that_slept_was_woken() {
    let place = phase("hlt-wake").unwrap();
    let mut awake = visit();
    let late = stamps(Stamps::Wake, [1_000_u32.wrapping_neg(), 90_000, 700]);
    awake.table.rows[place].outcome = Outcome::Done(late.clone());
    assert_eq!(find(&scene(Engine::KvmIntel, &vec![awake; 6]), "hardware/hlt-wake").status, Status::Failed);
    let mut both = visit();
    let Outcome::Done(samples) = &mut both.table.rows[place].outcome else { panic!("it is done") };
    samples.extend(late);
    let all = scene(Engine::KvmIntel, &vec![both; 6]);
    assert_eq!(figures(find(&all, "hardware/hlt-wake")).0, 5_000.0);
}

fn nowhere() -> Hardware<'static> {
    let nothing = Path::new("/nonexistent/thing");
    Hardware {
        device: nothing,
        qemu: nothing,
        modules: nothing,
        quick: true,
        units: &UNITS,
        hypervisor: None,
    }
}

#[test]
fn without_kvm_and_qemu_every_row_is_a_skip_with_its_remedy() {
    let all = nowhere().measure();
    assert_eq!(all.len(), 3 * HARDWARE_ROWS.len());
    for row in &all {
        assert_eq!(row.status, Status::Skipped, "{} {}", row.engine, row.probe);
        assert!(row.reason.is_some() && row.enable.as_ref().is_some_and(|text| !text.is_empty()));
    }
}

/// End to end, with known results: the instructions between two stamps in addition to those of the pair
/// (crates/microvm/tests/all/guest.rs counts them).
#[test]
fn a_kvm_that_posts_no_interrupts_is_named_by_its_switch() {
    let modules = tempfile::tempdir().unwrap();
    let hardware = Hardware { modules: modules.path(), ..nowhere() };
    let row = HARDWARE_ROWS.iter().find(|row| row.shape == Shape::Posted).unwrap();
    let reason = |engine| hardware.not_posted(row, engine).reason.unwrap();
    assert!(reason(Engine::KvmAmd).ends_with("kvm_amd/parameters/avic is off"));
    assert!(reason(Engine::KvmPvm).ends_with("in software"));
    let switch = modules.path().join("kvm_intel/parameters");
    fs::create_dir_all(&switch).unwrap();
    fs::write(switch.join("enable_apicv"), "Y\n").unwrap();
    assert!(reason(Engine::KvmIntel).contains("shares the guest's CPU"));
}

#[test]
fn under_icount_a_row_is_a_count_of_instructions() {
    if tollgate_testkit::program(qemu::PROGRAM).is_none() {
        return tollgate_testkit::skip!("qemu-system-x86_64 is missing: apt-get install qemu-system-x86");
    }
    let all = Hardware { qemu: Path::new(qemu::PROGRAM), ..nowhere() }.under_qemu(Engine::QemuTcgIcount);
    if all[0].reason.as_ref().is_some_and(|reason| reason.contains("did not end within")) {
        return tollgate_testkit::skip!("QEMU is too slow here now: {:?}", all[0].reason);
    }
    // Handler and return of the fault: mov, add, iretq, and the read again.
    let expected =
        [("page-fault", 4.0), ("undefined", 3.0), ("interrupt", 2.0), ("syscall", 2.0), ("iretq", 1.0)];
    for (name, count) in expected {
        let row = find(&all, &format!("hardware/{name}"));
        assert_eq!(row.counters.get("instructions"), Some(&count), "{name}: {:?}", row.reason);
        assert!(row.ns.is_none() && row.ticks.is_none() && !is_hardware(row), "a count is not a time");
        let parts: f64 = row.phases.iter().filter_map(|part| part.instructions).sum();
        assert!(row.phases.is_empty() || parts == count, "{name}: {:?}", row.phases);
    }
    assert_eq!(find(&all, "hardware/exit-port").status, Status::Skipped);
}

/// On this machine's KVM: each row is a figure with its parts, or a reason; all emulated rows carry the warning.
#[test]
fn under_this_kvm_every_row_is_a_figure_or_a_reason() {
    let all = Hardware::here(&UNITS, None, true).under_kvm();
    assert_eq!(all.len(), HARDWARE_ROWS.len());
    if all.iter().all(|row| row.status == Status::Skipped) {
        return tollgate_testkit::skip!("{:?}: {:?}", all[0].reason, all[0].enable);
    }
    for row in &all {
        assert_eq!(row.ticks.is_some(), row.status == Status::Measured, "{}", row.probe);
        assert_eq!(row.reason.is_some(), row.status != Status::Measured, "{}", row.probe);
        assert!(row.engine.starts_with("kvm"));
        assert_eq!(
            row.has_warning(warning::EMULATED),
            all[0].has_warning(warning::EMULATED),
            "{}",
            row.probe
        );
    }
    let pvm = Engine::of_kvm(Path::new("/sys/module")) == Engine::KvmPvm;
    assert!(!pvm || all.iter().all(|row| !is_hardware(row)));
}

/// The first crossing of each turn of eight warms up, and the first eighth of a phase without turns.
#[test]
fn what_warms_up_is_not_counted() {
    let mut visit = visit();
    for row in &mut visit.table.rows {
        let Outcome::Done(samples) = &mut row.outcome else { continue };
        let in_turns = phase(row.meta.name).is_some_and(|place| place < IN_TURNS);
        for (number, sample) in samples.iter_mut().enumerate() {
            if if in_turns { number % 8 == 0 } else { number < COUNT / 8 } {
                sample[3] = sample[3].wrapping_add(100_000);
            }
        }
    }
    visit.stays.port = (0..COUNT).map(|number| if number % 8 == 0 { 7_000 } else { 50 }).collect();
    let visits = [visit];
    let all = scene(Engine::KvmIntel, &visits);
    for row in all.iter().filter(|row| row.status == Status::Measured) {
        let longest = row.single.as_ref().map(|single| single.max).unwrap_or_default();
        assert!(longest < 40_000.0, "{}: {longest}", row.probe);
    }
    let port = find(&all, "hardware/exit-port");
    assert_eq!(figures(port).1.iter().find(|part| part.0 == "monitor"), Some(&("monitor", 25.0)));
}

/// A counter that advances by 26 at once shows 26 or 52 of 46 ticks, in the right proportion, and nothing in between.
#[test]
fn steps_of_the_counter_even_out() {
    let mut visit = visit();
    for row in &mut visit.table.rows[..IN_TURNS] {
        let Outcome::Done(samples) = &mut row.outcome else { continue };
        for (number, sample) in samples.iter_mut().enumerate() {
            // Stamps of 10,000 crossings in a row, each a little later within a step, rounded down.
            let mut at = (number * 1_009) as u32;
            let gaps: Vec<u32> = sample.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
            let whole = row.meta.stamps == Stamps::Whole;
            let length = sample[3].wrapping_sub(sample[0]);
            sample[0] = at / 26 * 26;
            for stamp in 1..3 {
                at += if whole { 0 } else { gaps[stamp - 1] };
                sample[stamp] = if whole { 0 } else { at / 26 * 26 };
            }
            at += if whole { length } else { gaps[2] };
            sample[3] = at / 26 * 26;
        }
    }
    let visits = [visit];
    let trap = scene(Engine::KvmIntel, &visits);
    let (total, parts) = figures(find(&trap, "hardware/syscall"));
    assert!((total - 1_000.0).abs() < 4.0, "{total}");
    for ((name, ns), ticks) in parts.iter().zip([600.0, 2.0, 300.0, 98.0]) {
        assert!((ns * 2.0 - ticks).abs() < 6.0, "{name}: {} of {ticks} ticks", ns * 2.0);
    }
}
