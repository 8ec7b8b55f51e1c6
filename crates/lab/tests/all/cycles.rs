//! Bills in cycles: sums agree, and known hardware costs appear.

use std::collections::BTreeMap;

use tollgate_cores::{Cause, Core};
use tollgate_lab::latency;
use tollgate_lab::pipeline::{self, Around, PipelineError, Wanted, view};
use tollgate_lab::program::Job;
use tollgate_lab::workload::{self, Point, WORKLOADS, Workload};
use tollgate_lab::{Crossing, DESIGNS, Design, Embedded, Engine, Experiment, Phase, record};
use tollgate_record::CauseName;

fn core(name: &str) -> Core {
    Core::preset(name).expect("a preset")
}

fn getpid(kernel: &str, iterations: u64) -> Experiment<'static> {
    let design = Design::find(kernel).expect("a design");
    Experiment { design, crossing: Crossing::parse("getpid").expect("a call"), iterations }
}

/// On every core and for every kernel: rows and columns add up, and the instructions are those of the bill
/// without cycles.
#[test]
fn every_bill_adds_up_and_timing_changes_no_instruction() {
    for name in Core::PRESETS {
        let designs = if *name == "cva6" { DESIGNS } else { &DESIGNS[..1] };
        for design in designs {
            let crossing = design.crossing.unwrap_or(Crossing::Call(172));
            let experiment = Experiment { design, crossing, iterations: 20 };
            let timed = Embedded.measure_cycles(&experiment, &core(name)).expect("a bill");
            let plain = Embedded.measure(&experiment).expect("a bill");
            assert_eq!(timed.bill.spread, plain.spread, "{name} {}", design.name);
            assert_eq!(timed.bill.phases, plain.phases, "{name} {}", design.name);
            let cycles = &timed.cycles;
            assert_eq!(cycles.crossings, 12, "the loop less the warming ones");
            assert_eq!(cycles.each.values().sum::<u64>(), cycles.crossings);
            for table in [&cycles.cold, &cycles.warm] {
                let by_cause: u64 = Cause::ALL.iter().map(|&cause| table.of_cause(cause)).sum();
                let by_phase: u64 = Phase::ALL.iter().map(|&phase| table.of_phase(phase as u8)).sum();
                assert_eq!((by_cause, by_phase), (table.total(), table.total()), "{name} {}", design.name);
            }
            let sum: u64 = cycles.each.iter().map(|(cycles, count)| cycles * count).sum();
            assert_eq!(sum, cycles.warm.total(), "{name} {}", design.name);
            // Every instruction has a cycle of its own, and nothing else is issued; unless some commit together.
            let instructions = cycles.cold.of_cause(Cause::Issue);
            let together = match core(name).scoreboard.commits {
                0 => plain.spread.single,
                commits => plain.spread.single.div_ceil(commits.into()),
            };
            assert!(
                (together..=plain.spread.single).contains(&instructions),
                "{name} {}: {instructions}",
                design.name
            );
        }
    }
}

/// A core without any hazard: an instruction takes a cycle, and so does the slot of the trap. Nothing is paid
/// afterwards.
#[test]
fn on_a_core_without_hazards_a_trap_is_its_instructions() {
    // In hardware, 17 words are stored and 17 are loaded.
    for (kernel, stacked) in [("full", 0), ("stack", 34)] {
        let bill = Embedded.measure_cycles(&getpid(kernel, 20), &core("single-cycle")).expect("a bill");
        let each = bill.cycles.warm.total() / bill.cycles.crossings;
        assert_eq!(each, bill.bill.spread.min + 1 + stacked, "{kernel}");
        let after = bill.cycles.after.expect("the program goes on");
        assert_eq!((after.total(), after.recovery), (0, 0), "{kernel}");
        assert!(after.returns > 0 && after.instructions > 0);
        // Cold caches are no slower where there are none.
        assert_eq!(bill.cycles.cold.total(), each, "{kernel}");
    }
}

/// The classic five stages: what is fetched behind an ecall is thrown away when the ecall is in WB, so four
/// fetches are lost besides its own slot; the way back loses as many behind sret.
#[test]
fn the_trap_of_the_five_stages_by_hand() {
    let bill = Embedded.measure_cycles(&getpid("full", 20), &core("ripes-5stage")).expect("a bill");
    let warm = &bill.cycles.warm;
    let flush = |phase: Phase| warm.get(phase as u8, Cause::TrapFlush) / bill.cycles.crossings;
    let penalty = core("ripes-5stage").trap;
    assert_eq!(flush(Phase::HardwareTrap), 1 + u64::from(penalty.exception));
    assert_eq!(flush(Phase::Return), u64::from(penalty.return_));
    assert_eq!(
        warm.of_cause(Cause::TrapFlush) / bill.cycles.crossings,
        1 + u64::from(penalty.exception + penalty.return_)
    );
}

/// The record's vocabulary defines every cause of the timing model.
#[test]
fn causes_are_defined() {
    for &cause in Cause::ALL {
        assert!(CauseName::find(cause.name()).is_some(), "{}", cause.name());
    }
}

/// The record keeps what the bill says: phases sum to the total, causes to their phase.
#[test]
fn entries_add_up() {
    let bill = Embedded.measure_cycles(&getpid("full", 20), &core("cva6")).expect("a bill");
    for entry in record::measured_cycles(&bill) {
        let total = entry.cycles.expect("cycles").estimate;
        let phases: f64 = entry.phases.iter().map(|p| p.cycles.expect("cycles").estimate).sum();
        assert!((phases - total).abs() < 1e-6, "{phases} {total}");
        for phase in &entry.phases {
            let causes: f64 = phase.causes.values().sum();
            assert!((causes - phase.cycles.expect("cycles").estimate).abs() < 1e-6, "{}", phase.name);
        }
    }
}

fn point(workload: &str, set: u64, touch: u64) -> Point<'static> {
    let workload = Workload::find(workload).expect("a workload");
    Point { workload, set, every: 2_000, touch, traps: 8 }
}

/// Direct and refill are the whole slow-down; without caches and prediction there is nothing to refill.
#[test]
fn a_slow_down_is_direct_and_refill_and_nothing_else() {
    for workload in WORKLOADS {
        for name in ["cva6", "rocket", "single-cycle"] {
            let seen =
                workload::measure(&point(&workload.name, 8 << 10, 64 << 10), &core(name)).expect("a run");
            let slower = seen.with_traps as i64 - seen.alone as i64;
            assert_eq!(slower, seen.direct() as i64 + seen.refill(), "{} {name}", workload.name);
            assert_eq!(seen.traps, 8);
            if name == "single-cycle" {
                assert_eq!(seen.refill(), 0);
                // Its instructions, and a slot for each trap.
                assert_eq!(seen.direct(), seen.instructions[1] + seen.traps);
            }
        }
    }
}

/// A kernel that touches nothing throws nothing out; one that touches far more than the cache holds throws out
/// all of a working set that fits: 64 lines of 64 bytes.
#[test]
fn what_the_kernel_touches_is_what_the_program_fetches_again() {
    // Lines of 64 bytes, which stores bring in. (In cva6 they do not.)
    let core = core("rocket");
    let line = 64;
    let set = 4 << 10;
    let none = workload::measure(&point("walk", set, 0), &core).expect("a run");
    assert_eq!(none.lost.l1d, 0, "nothing is touched, nothing is lost");
    let all = workload::measure(&point("walk", set, 1 << 20), &core).expect("a run");
    let lines = (set / line) as i64;
    let each = all.lost.l1d / all.traps as i64;
    // Page table entries are lines of the data cache, too, and random replacement may spare a few.
    assert!((lines * 9 / 10..=lines + 8).contains(&each), "{each} of {lines} lines");
    assert!(all.refill() > 0 && all.refill[Cause::DMiss as usize] > 0);
}

/// Every cycle of the loop is tried once; the longest latency is the shortest and the loop's longest wait.
#[test]
fn interrupts_come_at_every_cycle() {
    for name in ["ripes-5stage", "ibex", "cva6", "single-cycle"] {
        let found = latency::measure(&core(name), 16).expect("latencies");
        assert_eq!(found.cycles.values().sum::<u64>(), found.period, "{name}");
        let figure = record::latency(&found, name).cycles.expect("cycles");
        let (least, most) = (found.cycles.first_key_value(), found.cycles.last_key_value());
        let [least, most] = [least, most].map(|entry| *entry.expect("a latency").0 as f64);
        assert!(figure.min == least && least <= figure.p50 && figure.p50 <= most, "{name}");
    }
    // One instruction a cycle, nothing to wait for: the interrupt is seen in the cycle that it comes in.
    let ideal = latency::measure(&core("single-cycle"), 16).expect("latencies");
    assert_eq!(ideal.period, 8, "the loop has eight instructions");
    let penalty = u64::from(core("single-cycle").trap.interrupt);
    assert_eq!(ideal.cycles, BTreeMap::from([(1 + penalty, 8)]));
}

/// As the RTL's interrupts (guests/riscv/golden/cv32e40x-interrupts.golden): an access in WB holds an interrupt back, for up to two
/// cycles behind it, and nothing else does.
#[test]
fn an_access_holds_an_interrupt_of_cv32e40x_back() {
    let found = latency::measure(&core("cv32e40x"), 16).expect("latencies");
    let range = found.cycles.first_key_value().zip(found.cycles.last_key_value());
    assert_eq!(range.map(|(least, most)| (*least.0, *most.0)), Some((5, 8)));
}

/// "Interrupt latency is 4 cycles, from the signal to the hart to the first fetch of the handler, at best and with
/// the handler cached": SiFive's manuals of the E31 core complex (v2p0) and of the FE310-G000 (v3p2, section 8.5),
/// and Microchip's of a SoC with the same cores. All have Rocket's five stages. The manuals state no uncertainty.
#[test]
fn the_published_interrupt_latency_of_a_rocket_is_found() {
    let found = latency::measure(&core("rocket"), 16).expect("latencies");
    assert_eq!(found.first_fetch, 4);
    // To the retirement the fetch has four stages to go.
    assert_eq!(found.cycles.keys().next(), Some(&8));
}

#[test]
fn a_diagram_needs_something_to_be_about() {
    let job = latency::job();
    let core = core("ripes-5stage");
    let around = |around, nth| view(&job, &core, &Wanted { around, nth, count: 12 });
    // No exception in this program, two interrupts.
    assert!(matches!(around(Around::Trap, 1), Err(PipelineError::NotSeen { seen: 0, .. })));
    assert!(matches!(around(Around::Interrupt, 3), Err(PipelineError::NotSeen { seen: 2, .. })));
    let Err(PipelineError::Symbol { nearest, .. }) = around(Around::Symbol("timr".into()), 1) else {
        panic!("no such symbol")
    };
    assert_eq!(nearest.as_deref(), Some("timer"));
    let at = around(Around::Symbol("timer".into()), 1).expect("the handler");
    assert_eq!((at.event, at.rows.len(), at.rows[0].place.as_str()), (0, 12, "timer"));
    assert!(at.hazard.is_none());
}

/// An image with other code at its entry point, and where that is (ELF64: the entry point is at byte 24; behind the
/// header the first segment has its offset at byte 8 and its address at byte 16).
fn instead_of_a_kernel(code: &[u8]) -> (Vec<u8>, u64) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/riscv/images/full.elf");
    let mut image = std::fs::read(path).expect(path);
    let word = |at: usize| u64::from_le_bytes(image[at..at + 8].try_into().expect("eight bytes"));
    let (entry, offset, address) = (word(24), word(64 + 8), word(64 + 16));
    let at = (offset + entry - address) as usize;
    image[at..at + code.len()].copy_from_slice(code);
    (image, entry)
}

/// Whether an instruction retires or traps, a diagram from its address begins with it.
#[test]
fn a_diagram_begins_at_an_instruction_that_traps() {
    // auipc t0, 0; addi t0, t0, 24; csrw mtvec, t0; j 28 bytes on
    let handler = [0x0000_0297, 0x0182_8293, 0x3052_9073, 0x01c0_006f];
    // csrr t3, mepc; addi t3, t3, 4; csrw mepc, t3; mret
    let skip = [0x0000_0013, 0x0000_0013, 0x3410_2e73, 0x004e_0e13, 0x341e_1073, 0x3020_0073];
    // Loads are translated by an empty table: satp = 8 << 60 | 0x80400, mstatus.MPRV, MPP = S.
    let translate = [
        0x0010_0313, // li t1, 1
        0x03f3_1313, // slli t1, t1, 63
        0x0008_03b7, // lui t2, 0x80
        0x4003_8393, // addi t2, t2, 1024
        0x0073_6333, // or t1, t1, t2
        0x1803_1073, // csrw satp, t1
        0x0002_1337, // lui t1, 0x21
        0x8003_0313, // addi t1, t1, -2048
        0x3003_2073, // csrs mstatus, t1
    ];
    // ecall; an illegal instruction; ld a0, 0(zero). Behind each, jumps to themselves.
    for (name, word) in [("ecall", 0x0000_0073), ("illegal", 0xffff_ffff), ("page fault", 0x0000_3503)] {
        let words = handler.into_iter().chain(skip).chain(translate).chain([word, 0x0000_006f, 0x0000_006f]);
        let code: Vec<u8> = words.flat_map(|word: u32| word.to_le_bytes()).collect();
        let (program, entry) = instead_of_a_kernel(&code);
        let job =
            Job { ram_bytes: 8 << 20, program: program.into(), max_instructions: 10_000, ..Job::default() };
        let [handler, address, behind] = [24, 76, 80].map(|offset| format!("{:#x}", entry + offset));
        for core_name in ["single-cycle", "ripes-5stage", "ibex", "rocket", "cva6"] {
            let wanted = Wanted { around: Around::Symbol(address.clone()), nth: 1, count: 8 };
            let view = pipeline::view(&job, &core(core_name), &wanted)
                .unwrap_or_else(|e| panic!("{name} {core_name}: {e}"));
            let first = &view.rows[view.event];
            assert_eq!((view.event, &first.address, first.traps), (0, &address, true), "{name} {core_name}");
            // What is fetched behind it is thrown away and traps nothing.
            assert!(view.rows[1..].iter().all(|row| !row.traps), "{name} {core_name}");
            assert!(view.rows.iter().any(|row| row.address == handler), "{name} {core_name}: the handler");
            let wanted = Wanted { around: Around::Symbol(behind.clone()), ..wanted };
            let view = pipeline::view(&job, &core(core_name), &wanted).expect("the loop");
            assert!(!view.rows[0].traps, "{name} {core_name}");
        }
    }
}
