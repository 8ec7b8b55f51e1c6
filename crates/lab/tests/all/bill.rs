//! Bills against counts that were made by hand from the kernels' sources, and against a disassembler.

use std::process::Command;

use tollgate_cores::Core;
use tollgate_lab::{
    Crossing, CycleBill, DESIGNS, Design, Embedded, Engine, Experiment, FEATURES, Phase, Phases, TrapBill,
    USUAL, record,
};
use tollgate_record::{Measurement, counter};
use tollgate_testkit::{program, skip};

fn bill_of(name: &str, crossing: Option<Crossing>) -> TrapBill<'static> {
    let design = Design::find(name).expect("a design");
    let crossing = design.crossing.or(crossing).unwrap_or(Crossing::Call(172));
    Embedded.measure(&Experiment { design, crossing, iterations: 20 }).expect(name)
}

fn each(bill: &TrapBill) -> Phases {
    bill.each().expect("all crossings alike")
}

/// Instructions, loads, stores of some phases.
fn parts(name: &str, crossing: Option<Crossing>, phases: &[Phase]) -> Vec<[u64; 3]> {
    let each = each(&bill_of(name, crossing));
    phases.iter().map(|&p| [each[p].instructions, each[p].loads, each[p].stores]).collect()
}

#[test]
fn every_design_gives_a_bill_that_adds_up() {
    for design in DESIGNS {
        let bill = bill_of(design.name, None);
        let [first, all] = &**bill.phases.as_ref().expect("phases");
        let sum = |phases: &Phases| phases.iter().map(|(_, cost)| cost.instructions).sum::<u64>();
        assert_eq!(sum(first), bill.spread.single, "{}", design.name);
        assert_eq!(sum(all), bill.spread.sum, "{}", design.name);
        // Simulated, without a cache or a clock: no crossing may differ from another.
        assert_eq!(
            (bill.spread.min, bill.spread.max),
            (bill.spread.single, bill.spread.single),
            "{}",
            design.name
        );
        assert_eq!(*first, each(&bill), "{}", design.name);
        assert_eq!(first[Phase::Other].instructions, 0, "{}", design.name);
    }
}

#[test]
fn two_runs_are_the_same() {
    for name in ["full", "timer-space"] {
        assert_eq!(bill_of(name, None).phases, bill_of(name, None).phases);
    }
}

/// Save and restore as the sources list them: one line of the file for each addend.
#[test]
fn save_and_restore_are_what_the_sources_list() {
    use Phase::{Restore, Save};
    // addi sp; 30 registers; csrr of sp, pc, status; their three stores.
    let full_save = [1 + 30 + 3 + 3, 0, 30 + 3];
    // ld of status and pc; two csrw; 30 registers; sp last.
    let full_restore = [2 + 2 + 30 + 1, 2 + 30 + 1, 0];
    for name in ["full", "full-m", "direct", "vectored"] {
        assert_eq!(parts(name, None, &[Save, Restore]), [full_save, full_restore], "{name}");
    }
    // addi sp, 16 registers; 16 registers, addi sp.
    assert_eq!(parts("caller", None, &[Save, Restore]), [[1 + 16, 0, 16], [16 + 1, 16, 0]]);
    // And 32 registers, fcsr read or written, its store or load.
    let eager = [[37 + 32 + 2, 0, 33 + 33], [35 + 32 + 2, 33 + 33, 0]];
    assert_eq!(parts("fp-eager", None, &[Save, Restore]), eager);
    // The test of FS is li, and, bne; only when it is dirty 32 + 2 follow, and the new FS: li, xor.
    assert_eq!(parts("fp-lazy", None, &[Save, Restore]), [[37 + 3, 0, 33], full_restore]);
    assert_eq!(parts("fp-lazy-dirty", None, &[Save, Restore]), [[37 + 3 + 34 + 2, 0, 33 + 33], full_restore]);
    // A number and six arguments over, one result back; nothing touches memory.
    assert_eq!(parts("bank", None, &[Save, Restore]), [[7, 0, 0], [1, 0, 0]]);
    // No instruction saves; the hardware stores 16 registers and its stack pointer, and loads them again.
    assert_eq!(parts("stack", None, &[Save, Restore, Phase::HardwareTrap]), [[0; 3], [0; 3], [0, 17, 17]]);
    // csrrw; 30 registers; csrr of t6, pc, status; three stores; mv. csrw, 2 + 2, 31 registers.
    let switch = [[1 + 30 + 3 + 3 + 1, 0, 33], [1 + 2 + 2 + 31, 33, 0]];
    for name in ["switch-same", "switch-space", "timer-asid"] {
        assert_eq!(parts(name, None, &[Save, Restore]), switch, "{name}");
    }
    // Both traps, and the second one saves and restores as much as the first.
    let nested = parts("nested", None, &[Save, Restore]);
    let taken = parts("nested-taken", None, &[Save, Restore]);
    assert_eq!(taken, nested.iter().map(|part| part.map(|n| 2 * n)).collect::<Vec<_>>());
}

#[test]
fn bytes_saved_are_eight_for_each_register() {
    let saved = |name| each(&bill_of(name, None)).bytes_saved();
    assert_eq!(saved("full"), 8 * (31 + 2));
    assert_eq!(saved("caller"), 8 * 16);
    assert_eq!(saved("fp-eager"), 8 * (31 + 2 + 33));
    assert_eq!(saved("stack"), 8 * 17);
    assert_eq!(saved("bank"), 0);
}

#[test]
fn the_small_phases_are_what_the_sources_list() {
    use Phase::{Dispatch, Firmware, Handler, Return, Schedule, Space, StackSwitch, UserStub};
    let full = each(&bill_of("full", None));
    // jal, mv, ret around the ecall.
    assert_eq!(full[UserStub].instructions, 3);
    // csrrw; addi and csrw on the way back.
    assert_eq!(full[StackSwitch].instructions, 3);
    // csrr, bltz, li, beq, addi, sd; li, bgeu, auipc, addi, slli, add, ld, jalr; j; sd.
    assert_eq!(full[Dispatch].instructions, 6 + 8 + 1 + 1);
    // auipc, lw, ret.
    assert_eq!(full[Handler].instructions, 3);
    assert_eq!(full[Return].instructions, 1);
    assert_eq!(full[Phase::HardwareTrap].traps, 1);

    // ld and csrw of satp; sfence.vma only without ASIDs.
    assert_eq!(each(&bill_of("switch-space", None))[Space].instructions, 3);
    assert_eq!(each(&bill_of("switch-asid", None))[Space].instructions, 2);
    assert_eq!(each(&bill_of("switch-same", None))[Space].instructions, 0);
    let timer = each(&bill_of("timer-same", None));
    // The timer comes through machine mode, then to the kernel, then the kernel asks for the next one.
    assert_eq!(timer[Phase::HardwareTrap].traps, 3);
    assert!(timer[Firmware].instructions > 0);
    // ld; auipc, addi; ld, addi, sd.
    assert_eq!(timer[Schedule].instructions, 6);
    assert_eq!(timer[UserStub].instructions, 0);

    // Looking the cause up: bltz taken, slli, auipc, addi, add, ld, jalr, j; and directly: jal, j. Both read
    // no cause or read it once, and the vectored one jumps from the table.
    let direct = each(&bill_of("direct", None))[Dispatch].instructions;
    let vectored = each(&bill_of("vectored", None))[Dispatch].instructions;
    assert_eq!((direct, vectored), (1 + 1 + 7, 1 + 1 + 1));
}

/// The bill of a kernel on a core whose identifiers have so many bits.
fn with_identifiers(name: &str, bits: u32) -> CycleBill<'static> {
    let design = Design::find(name).expect("a design");
    let crossing = design.crossing.expect("one crossing");
    let core = format!("base = 'ideal'\nname = 'mine'\n[system]\nasid-bits = {bits}");
    let core = Core::from_toml(&core).expect("a core");
    Embedded.measure_cycles(&Experiment { design, crossing, iterations: 20 }, &core).expect(name)
}

/// An address space identifier has 0 to 16 bits (privileged specification, 10.1.11). Two address spaces need one bit.
#[test]
fn identifiers_are_used_where_there_are_some() {
    for (bits, instructions, about) in [
        // ld and csrw of satp, and sfence.vma as in switch-space.
        (0, 3, "other space, no ASIDs: TLB flushed"),
        (1, 2, "other address space, with ASIDs"),
        (9, 2, "other address space, with ASIDs"),
        (16, 2, "other address space, with ASIDs"),
    ] {
        for name in ["switch-asid", "timer-asid"] {
            let found = with_identifiers(name, bits);
            assert_eq!(found.bill.asid_bits, Some(bits), "{name} {bits}");
            assert_eq!(each(&found.bill)[Phase::Space].instructions, instructions, "{name} {bits}");
            let [warm, cold] = record::measured_cycles(&found);
            let warned = warm.warnings.iter().any(|warning| warning.code == "no-asids");
            assert_eq!(warned, bits == 0, "{name} {bits}");
            for entry in [warm, cold] {
                assert_eq!(entry.found.trap().expect("a trap").about, about, "{name} {bits}");
            }
        }
        // Both tasks ran on their own stacks to the end, or the guest had stopped with another status.
        assert_eq!(with_identifiers("switch-asid", bits).bill.spread.count, 20);
        assert_eq!(with_identifiers("switch-space", bits).bill.asid_bits, None, "it needs none");
    }
}

#[test]
fn rocket_has_no_identifiers() {
    let design = Design::find("switch-asid").expect("a design");
    let experiment = Experiment { design, crossing: Crossing::Yield, iterations: 20 };
    let on = |core: &str| Embedded.measure_cycles(&experiment, &Core::preset(core).unwrap()).unwrap().bill;
    assert_eq!([on("rocket").asid_bits, on("cva6").asid_bits], [Some(0), Some(16)]);
}

#[test]
fn calls_do_what_they_say() {
    let results: Vec<_> = USUAL.iter().map(|&call| bill_of("full", Some(call)).result).collect();
    // pid, uid, one byte written, two successes, and -ENOSYS.
    assert_eq!(results, [1, 0, 1, 0, 0, -38].map(Some));
    // A switch or an interrupt returns nothing.
    assert_eq!(bill_of("switch-same", None).result, None);
    // Only the handler differs between calls.
    let bills: Vec<_> = USUAL[..5].iter().map(|&call| each(&bill_of("full", Some(call)))).collect();
    for &phase in Phase::ALL.iter().filter(|phase| **phase != Phase::Handler) {
        assert!(bills.iter().all(|bill| bill[phase] == bills[0][phase]), "{phase:?}");
    }
}

/// The straight-line phases have as many instructions in the image as were counted, says another disassembler.
#[test]
fn objdump_counts_the_same() {
    const OBJDUMP: &str = "riscv64-unknown-elf-objdump";
    if program(OBJDUMP).is_none() {
        return skip!("{OBJDUMP} is missing: apt-get install binutils-riscv64-unknown-elf");
    }
    for (name, image) in [
        ("full", "full"),
        ("full-m", "full-m"),
        ("caller", "caller"),
        ("fp-eager", "fp-eager"),
        ("fp-lazy-dirty", "fp-lazy"),
        ("bank", "bank"),
    ] {
        let each = each(&bill_of(name, None));
        let path = format!("{}/../../guests/riscv/images/{image}.elf", env!("CARGO_MANIFEST_DIR"));
        let output = Command::new(OBJDUMP).args(["-d", &path]).output().expect("objdump runs");
        let text = String::from_utf8(output.stdout).expect("text");
        for (phase, mark) in [(Phase::Save, "<phase.save."), (Phase::Restore, "<phase.restore.")] {
            let mut counting = false;
            let mut count = 0;
            for line in text.lines() {
                if line.ends_with(">:") {
                    // A label that is not a mark, such as `resume`, ends nothing.
                    counting = if line.contains("<phase.") { line.contains(mark) } else { counting };
                } else if counting && line.starts_with(' ') {
                    count += 1;
                }
            }
            assert_eq!(each[phase].instructions, count, "{name}, {phase:?}");
        }
    }
}

/// By hand, from `full.S`, `vectored.S` and `clic.S` in `guests/riscv/kernels`: csrr, bltz, slli, auipc, addi, add, ld, jalr, j, and
/// with the CLIC an andi; j, jal, j, and with its table no first j; csrr, bltz, mv, csrrsi, beqz, ld, jalr, csrrsi, bnez, csrci, csrw, j.
#[test]
fn interrupts_are_dispatched_as_the_sources_list() {
    use Phase::{Dispatch, Handler, HardwareTrap, Restore, Return, Save, StackSwitch, UserStub};
    let direct = each(&bill_of("direct", None));
    for (name, dispatch) in
        [("direct", 9), ("vectored", 3), ("clic", 10), ("clic-table", 2), ("clic-next", 12)]
    {
        let each = each(&bill_of(name, None));
        assert_eq!(each[Dispatch].instructions, dispatch, "{name}");
        for phase in [Handler, HardwareTrap, Restore, Return, Save, StackSwitch, UserStub] {
            assert_eq!(each[phase], direct[phase], "{name}, {phase:?}");
        }
    }
    // A second one that is pending costs all of it again, but with mnxti no trap: ld, jalr, csrrsi, bnez.
    for (name, traps, dispatch) in [
        ("pair", 2, 18),
        ("pair-vectored", 2, 6),
        ("pair-clic", 2, 20),
        ("pair-table", 2, 4),
        ("pair-next", 1, 16),
    ] {
        let each = each(&bill_of(name, None));
        assert_eq!((each[HardwareTrap].traps, each[Dispatch].instructions), (traps, dispatch), "{name}");
        assert_eq!(each[Save].instructions, traps * direct[Save].instructions, "{name}");
    }
}

/// What a design adds to the switch without vectors: instructions, and bytes that it stores.
fn added(name: &str, vlen: u64) -> [i64; 2] {
    let cost = |design: Design<'static>| {
        let design: &'static Design = Box::leak(Box::new(design));
        let experiment = Experiment { design, crossing: Crossing::Yield, iterations: 6 };
        let total = each(&Embedded.measure(&experiment).unwrap()).total();
        [total.instructions, total.bytes_stored].map(|count| count as i64)
    };
    let design = Design::find(name).unwrap().with_vlen(vlen).unwrap();
    let [with, without] = [design, *Design::find("switch-same").unwrap()].map(cost);
    [with[0] - without[0], with[1] - without[1]]
}

/// By hand, from `guests/riscv/kernels/vector.S`: the registers are stored by 20 instructions and loaded by 18, the
/// entry looks for vector instructions with 2, a task uses them with 2, and the trap of the lazy kernel takes 108.
#[test]
fn vectors_add_what_the_source_says_to_a_switch() {
    for vlen in [128, 256, 512, 1024] {
        let state = 32 + 32 * vlen as i64 / 8;
        for (name, expected) in [
            ("vector-eager", [2 + 20 + 18 + 2, state]),
            ("eager-unused", [2 + 20 + 18, state]),
            ("vector-dirty", [2 + 26 + 22 + 2, state + 8]),
            ("dirty-unused", [2 + 5 + 3, 0]),
            ("vector-lazy", [2 + 26 + 2 + 108, state + 8 + 33 * 8 + 8]),
            ("lazy-unused", [2 + 7, 8]),
        ] {
            assert_eq!(added(name, vlen), expected, "{name} with {vlen} bits");
        }
    }
    // Two instructions store the shadow stack pointer, and two load it.
    assert_eq!(added("shadow-stack", 128), [4, 8]);
    // The share of switches behind which vectors are used, from which on it is cheaper to save them always than to load them by
    // a trap: 24 % in instructions. In bytes that are stored, 65 % with 128 bits, and 94 % with 1,024.
    let break_even = |what: usize, vlen| {
        let [eager, eager_used, lazy, lazy_used] =
            ["eager-unused", "vector-eager", "lazy-unused", "vector-lazy"]
                .map(|name| added(name, vlen)[what]);
        (eager - lazy) as f64 / ((lazy_used - lazy) - (eager_used - eager)) as f64
    };
    let shares = [(0, 128), (0, 1024), (1, 128), (1, 1024)].map(|(what, vlen)| break_even(what, vlen));
    assert_eq!(shares.map(|share| (share * 100.0).round()), [24.0, 24.0, 66.0, 94.0]);
}

#[test]
fn vector_registers_of_another_length_are_refused() {
    let design = Design::find("vector-lazy").unwrap();
    assert!([0, 64, 192, 2048, u64::MAX].iter().all(|&vlen| design.with_vlen(vlen).is_none()));
    assert_eq!(Design::find("full").unwrap().with_vlen(256).map(|design| design.isa), Some("rv64gc"));
}

/// Of 128 bits, by the sums of [`vectors_add_what_the_source_says_to_a_switch`]: (40 - 9) / (138 - 9 - 2) of the switches in
/// instructions, and for the design that tests VS (40 - 10) / (52 - 10 - 2).
#[test]
fn features_have_the_share_from_which_on_saving_always_costs_less() {
    let feature = FEATURES.iter().find(|feature| feature.key == "vector").unwrap();
    let (asked, designs): (Vec<_>, Vec<_>) = feature.designs().unzip();
    let measure = |design| {
        let experiment = Experiment { design, crossing: Crossing::Yield, iterations: 6 };
        record::measured(&Embedded.measure(&experiment).unwrap())
    };
    let mut results: Vec<_> = designs.iter().map(measure).collect();
    record::add_features(&mut results, &asked);
    let shares = ["vector-dirty", "vector-lazy"].map(|name| {
        let is_meant = |result: &&Measurement| result.asked.trap().is_some_and(|asked| asked.kernel == name);
        results.iter().find(is_meant).unwrap().counters[&counter::BREAK_EVEN.part("instructions")]
    });
    assert_eq!(shares, [30.0 / 40.0, 31.0 / 127.0]);
    let others =
        results.iter().filter(|result| result.counters.keys().any(|name| name.starts_with("break-even")));
    assert_eq!(others.count(), 2);
}
