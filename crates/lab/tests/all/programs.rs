//! Programs on the embedded machine: their output, how they end, and damage of every kind.

use std::fs;

use crate::common::{elf, elf_at, image, insn, job, off, run};
use tollgate_cores::Core;
use tollgate_lab::program::{self, Ending, GuestTime, Job, ProgramError, Shapes, Watch};
use tollgate_lab::{Filter, Profile, Tier, Trace};
use tollgate_riscv::{MachineKind, Op, Privilege, Refused};
use tollgate_testkit::fast;

#[test]
fn watching_changes_nothing() {
    let job = job(image("ctx_switch"));
    let (plain, console, _) = run(&job, Watch::Nothing).expect("runs");
    assert_eq!(plain.ending, Ending::Exited(0));
    assert_eq!(console, "getpid 1: 96 cycles\n");
    for watch in [
        Watch::Profile,
        Watch::Trace(Trace::Commit, Filter::default()),
        Watch::Trace(Trace::Disasm, Filter::default()),
    ] {
        let (watched, also, trace) = run(&job, watch.clone()).expect("runs");
        assert_eq!(
            (watched.instructions, &watched.ending, &also),
            (plain.instructions, &plain.ending, &console)
        );
        if let Watch::Trace(..) = watch {
            // A line for each instruction, and one for each trap.
            let instructions = trace.lines().filter(|line| !line.contains(": trap ")).count();
            assert_eq!(instructions as u64, plain.instructions);
        }
    }
}

#[test]
fn each_tier_does_the_same() {
    let path = format!("{}/../../guests/riscv/bench/mix.elf", env!("CARGO_MANIFEST_DIR"));
    let program = fs::read(&path).expect(&path);
    let on = |tier, isa: &str, watch| {
        let isa = isa.parse().expect("an ISA");
        run(&Job { tier, isa, max_instructions: 3_000_000, ..job(program.clone()) }, watch)
    };
    let (plain, console, _) = on(Tier::Interpret, "rv64gc", Watch::Nothing).expect("runs");
    // The limit, to the instruction.
    assert_eq!((plain.instructions, &plain.ending), (3_000_000, &Ending::Budget));
    let (auto, also, _) = on(Tier::Auto, "rv64gc", Watch::Nothing).expect("runs");
    assert_eq!((auto.instructions, &auto.ending, &also), (3_000_000, &plain.ending, &console));
    let trace = || Watch::Trace(Trace::Commit, Filter::default());
    let error = on(Tier::Translate, "rv64gc", trace()).err().expect("traces need the interpreter");
    assert!(error.to_string().contains("--trace"), "{error}");
    assert!(on(Tier::Auto, "rv64gc", trace()).is_ok());
    for tier in [Tier::Interpret, Tier::Translate] {
        let (profiled, also, _) = on(tier, "rv64gc", Watch::Profile).expect("runs");
        assert_eq!((profiled.instructions, &also), (3_000_000, &console));
    }
}

/// Shapes in which lines displace each other, with a second level, which sees the order of all misses.
#[test]
fn each_tier_counts_caches_alike() {
    let read = |name: &str| {
        let path = format!("{}/../../guests/riscv/bench/{name}.elf", env!("CARGO_MANIFEST_DIR"));
        fs::read(&path).expect(&path)
    };
    for [ic, dc, l2] in [
        ["4:2:16", "2:2:16", "16:2:64"],
        ["64:4:64", "64:4:64", "256:8:64"],
        ["8:1:4", "", ""],
        ["", "4:1:4", ""],
    ] {
        let caches = Shapes { ic: ic.parse().ok(), dc: dc.parse().ok(), l2: l2.parse().ok() };
        for program in ["mix", "float"].map(read) {
            let isa = "rv64gc".parse().expect("an ISA");
            let on = |tier| {
                let job = Job { tier, isa, max_instructions: 2_000_000, ..job(program.clone()) };
                let (outcome, _, counts) = run(&job, Watch::Beside { caches, fence: false }).expect("runs");
                (outcome.instructions, counts)
            };
            let plain = on(Tier::Interpret);
            assert!(plain.1.contains("Miss Rate:"), "{}", plain.1);
            assert_eq!(on(Tier::Auto), plain);
        }
    }
    let watch = Watch::Beside { caches: Shapes::default(), fence: true };
    let error = run(&Job { tier: Tier::Translate, ..job(read("mix")) }, watch)
        .err()
        .expect("it needs the interpreter");
    assert!(error.to_string().contains("--check-fence"), "{error}");
}

/// A program whose first instruction is illegal: what happened first, not where the handler is lost.
#[test]
fn a_program_that_dies_says_cause_place_and_value_of_its_first_trap() {
    let mut bytes = image("ctx_switch");
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    // The entry point, and the first segment's offset and address.
    let at = (number(24) - number(64 + 16) + number(64 + 8)) as usize;
    bytes[at..at + 4].copy_from_slice(&0xffff_ffff_u32.to_le_bytes());
    for watch in [Watch::Nothing, Watch::Profile, Watch::Trace(Trace::Commit, Filter::default())] {
        let (outcome, ..) = run(&job(bytes.clone()), watch).expect("runs");
        let expected = "illegal instruction at 0x80000000 in _start (tval 0xffffffff), and no trap handler \
                        is set (mtvec is 0)";
        assert_eq!(outcome.ending, Ending::Stuck(expected.into()));
    }
}

/// `la t0, HANDLER; csrw mtvec, t0`, several times: the line of the second has what the one before wrote to x5.
#[test]
fn a_commit_trace_has_the_csrs_that_are_written() {
    let (_, _, trace) =
        run(&job(image("ctx_switch")), Watch::Trace(Trace::Commit, Filter::default())).expect("runs");
    let value = |line: &str, name: &str| Some(line.split_once(name)?.1.trim_start().get(..18)?.to_owned());
    let (mut written, mut seen) = (String::new(), 0);
    for line in trace.lines() {
        written = value(line, " x5 ").unwrap_or(written);
        if let Some(vector) = value(line, " c773_mtvec ") {
            assert_eq!(vector, written, "{line}");
            seen += 1;
        }
    }
    assert!(seen >= 2, "{seen}");
    // A csrrs of x0 writes nothing.
    assert!(!trace.contains("c3860_mhartid"));
}

/// What Spike logs behind the word of each instruction (`--log-commits`, its commit 55b4658d), here without leading zeros: counters
/// as they were written, flags and modes one by one, `mstatus` where FS becomes Dirty and on `mret`, in the order of the registers'
/// numbers.
#[test]
fn a_commit_trace_has_spikes_registers() {
    let lines = [
        (0x0640_0313, "x6 0x64"),
        (0xb023_1073, "c2818_minstret 0x64"),
        (0xb020_2573, "x10 0x64"),
        (0xb000_1073, "c2816_mcycle 0x0"),
        (0x0000_62b7, "x5 0x6000"),
        (0x3002_a073, "c768_mstatus 0x8000000a00006000"),
        (0xd203_00d3, "f1 0x4059000000000000"),
        (0xd200_0053, "f0 0x0"),
        (0x0410_0293, "x5 0x41"),
        (0x0032_9073, "c1_fflags 0x1 c2_frm 0x2"),
        (0x0000_42b7, "x5 0x4000"),
        (0x3002_b073, "c768_mstatus 0xa00002000"),
        (0x1a00_8153, "c1_fflags 0x9 f2 0x7ff0000000000000 c768_mstatus 0x8000000a00006000"),
        (0xa200_2553, "x10 0x1"),
        (0x1040_1073, "c260_sie 0x0 c772_mie 0x0"),
        (0x0000_0297, "x5 0x8000003c"),
        (0x01c2_8293, "x5 0x80000058"),
        (0x3412_9073, "c833_mepc 0x80000058"),
        (0x0000_22b7, "x5 0x2000"),
        (0x8002_8293, "x5 0x1800"),
        (0x3002_a073, "c768_mstatus 0x8000000a00007800"),
        (0x3020_0073, "c768_mstatus 0x8000000a00006080"),
        (0x05d0_0893, "x17 0x5d"),
        (0x0000_0513, "x10 0x0"),
    ];
    let words: Vec<u32> = lines.iter().map(|(word, _)| *word).chain([0x0000_0073]).collect();
    let (outcome, _, trace) =
        run(&job(elf(&words, &[])), Watch::Trace(Trace::Commit, Filter::default())).expect("runs");
    assert_eq!(outcome.ending, Ending::Exited(0));
    let short = |line: &str| {
        let shorter = |word: &str| match word.strip_prefix("0x") {
            Some(digits) => format!("0x{:0>1}", digits.trim_start_matches('0')),
            None => word.to_owned(),
        };
        line.split_whitespace().skip(5).map(shorter).collect::<Vec<_>>().join(" ")
    };
    for ((line, number), (word, expected)) in trace.lines().zip(0..).zip(lines) {
        assert!(line.contains(&format!("({word:#010x})")), "{number}: {line}");
        assert_eq!(short(line), expected, "{line}");
    }
    assert!(trace.lines().count() >= lines.len());
}

/// A loop of 2,000 instructions between two writes to `mcountinhibit`, whether cycles are instructions or a core's.
#[test]
fn counters_stand_still_on_every_core() {
    let program = |stop: u32| {
        let words = [
            0xb000_1073, // csrw mcycle, zero
            0xb020_1073, // csrw minstret, zero
            stop,
            0x3e80_0293, // li t0, 1000
            0xfff2_8293, // addi t0, t0, -1
            0xfe02_9ee3, // bnez t0, -4
            0xb000_2573, // csrr a0, mcycle
            0xb020_25f3, // csrr a1, minstret
            0x0325_3513, // sltiu a0, a0, 50
            0x0325_b593, // sltiu a1, a1, 50
            0x0015_9593, // slli a1, a1, 1
            0x00b5_6533, // or a0, a0, a1
            0x05d0_0893, // li a7, 93
            0x0000_0073, // ecall
        ];
        job(elf(&words, &[]))
    };
    // csrwi mcountinhibit, 5; 4; 1; 0
    for (stop, still) in [(0x3202_d073, 3), (0x3202_5073, 2), (0x3200_d073, 1), (0x3200_5073, 0)] {
        let (outcome, ..) = run(&program(stop), Watch::Nothing).expect("runs");
        assert_eq!(outcome.ending, Ending::Exited(still), "{stop:#x}");
        for core in ["rocket", "cva6", "ibex"] {
            let core = Box::new(Core::preset(core).expect("a preset"));
            let watch = Watch::Ledger(core, GuestTime::Model);
            assert_eq!(
                run(&program(stop), watch).expect("runs").0.ending,
                Ending::Exited(still),
                "{stop:#x}"
            );
        }
    }
}

/// `vsetvli t0,a1,e32,m1,ta,ma`, as gcc writes it with `-march=rv64gcv`.
#[test]
fn an_instruction_of_an_extension_that_is_not_there_is_named() {
    let (outcome, ..) = run(&job(elf(&[0x0d05_f2d7], &[])), Watch::Nothing).expect("runs");
    let Ending::Stuck(text) = outcome.ending else { panic!("{:?}", outcome.ending) };
    assert!(
        text.contains("(0xd05f2d7: `vsetvli` of the extension 'v', which this machine's ISA string, rv64imafdc_zicsr_zifencei, leaves out)"),
        "{text}"
    );
}

#[test]
fn a_ledger_charges_every_cycle_once_and_the_guest_sees_them_on_request() {
    let job = job(image("ctx_switch"));
    let core = || Box::new(Core::preset("ripes-5stage").expect("a preset"));
    let (plain, _, _) = run(&job, Watch::Nothing).expect("runs");
    let mut consoles = Vec::new();
    for time in [GuestTime::Functional, GuestTime::Model] {
        let (outcome, console, _) = run(&job, Watch::Ledger(core(), time)).expect("runs");
        let ledger = outcome.ledger.expect("a ledger");
        let cycles: u64 = ledger.functions().flat_map(|(_, causes, _)| causes).sum();
        assert_eq!(cycles, ledger.cycles());
        assert!(cycles > plain.instructions, "{cycles}");
        consoles.push(console);
    }
    assert_eq!(consoles[0], "getpid 1: 96 cycles\n");
    // The core loses cycles behind the trap, the return and each jump, and gains none.
    let seen = consoles[1].split(' ').nth(2).and_then(|number| number.parse::<u64>().ok()).expect("a number");
    assert!((97..300).contains(&seen), "{seen}");
}

/// On a core without hazards an instruction takes a cycle, so totals and paths are counts of instructions.
#[test]
fn a_ledger_follows_the_calls() {
    let core = Box::new(Core::preset("single-cycle").expect("a preset"));
    let watch = Watch::Ledger(core, GuestTime::Functional);
    let (outcome, _, _) = run(&job(image("enhanced_ctx_switch")), watch).expect("runs");
    let ledger = outcome.ledger.expect("a ledger");
    let of = |name: &str| {
        let found = ledger.functions().find(|(function, ..)| *function == name).expect(name);
        (found.1.iter().sum::<u64>(), found.2)
    };
    // The kernel's three instructions for each of 1,001 calls, which call nothing.
    assert_eq!(of("sys_getpid"), (3 * 1001, 3 * 1001));
    // Each call comes from main and takes 95 instructions in the kernel and the slot of its trap.
    let (own, total) = of("main");
    assert!(total >= own + 95 * 1001, "{own} {total}");
    let (paths, cut) = ledger.paths();
    assert_eq!(paths.iter().map(|path| path.cycles).sum::<u64>(), ledger.cycles());
    assert_eq!(cut, 0);
    let names: Vec<&str> = ledger.functions().map(|(name, ..)| name).collect();
    assert!(names.contains(&"trap_vector") && paths.iter().enumerate().all(|(at, path)| path.caller <= at));
    for (name, causes, total) in ledger.functions() {
        assert!(causes.iter().sum::<u64>() <= total && total <= ledger.cycles(), "{name}");
    }
}

#[test]
fn a_profile_charges_every_instruction_once() {
    let (outcome, _, _) = run(&job(image("enhanced_ctx_switch")), Watch::Profile).expect("runs");
    let profile: Profile = outcome.profile.expect("a profile");
    let functions: u64 = profile.functions().iter().map(|(_, n)| n).sum();
    assert_eq!(functions, outcome.instructions);
    assert_eq!(profile.phases.total().instructions, outcome.instructions);
    // One measured alone and 1,000 in the loop.
    assert_eq!(profile.calls[&172].count, 1001);
    assert_eq!(profile.calls[&172].min, profile.calls[&172].max);
}

#[test]
fn a_file_is_read_only_when_it_was_given() {
    let mut job = job(image("forbidden"));
    let (outcome, _, _) = run(&job, Watch::Nothing).expect("runs");
    // EACCES.
    assert_eq!(outcome.ending, Ending::Exited(13));
    assert_eq!(outcome.refused, [Refused { path: "/etc/hostname".into(), write: false }]);
    job.files.push(("/etc/hostname".into(), b"here\n".to_vec()));
    let (outcome, _, _) = run(&job, Watch::Nothing).expect("runs");
    // Opened: the first free descriptor, negated, shifted out by one bit of the exit code.
    assert_ne!(outcome.ending, Ending::Exited(13));
    assert!(outcome.refused.is_empty());
}

#[test]
fn a_program_that_does_not_end_is_stopped_where_it_was_said() {
    let mut job = job(image("full"));
    job.max_instructions = 12_345;
    let (outcome, _, _) = run(&job, Watch::Nothing).expect("runs");
    assert_eq!(outcome.ending, Ending::Budget);
    // Traps are steps as well, so it may have retired fewer.
    assert!(outcome.instructions <= 12_345 && outcome.instructions > 12_000);
}

/// Cut anywhere and with any byte wrong, a program is refused or runs to its end or budget. It never panics.
#[test]
fn damaged_programs_are_refused_or_run() {
    let whole = image("full");
    for length in (0..whole.len()).step_by(if fast() { 397 } else { 61 }) {
        let mut job = job(whole[..length].to_vec());
        job.max_instructions = 10_000;
        // What was cut off is not there, so it cannot be loaded; headers at the end may be missed.
        let _ = run(&job, Watch::Nothing);
    }
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..if fast() { 40 } else { 400 } {
        let mut bytes = whole.clone();
        for _ in 0..4 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // Mostly the headers and the code.
            let at = (random >> 8) as usize % if random & 1 == 0 { 256 } else { bytes.len() };
            bytes[at] = random as u8;
        }
        let mut job = job(bytes);
        job.max_instructions = 10_000;
        if let Ok((outcome, _, _)) = run(&job, Watch::Profile) {
            assert!(outcome.instructions <= 10_000);
        }
    }
}

/// Spike's counts of direct-mapped caches, worked out from the lines of a commit trace.
#[test]
fn caches_count_what_the_trace_has() {
    let job = job(image("ctx_switch"));
    let (_, _, trace) = run(&job, Watch::Trace(Trace::Commit, Filter::default())).expect("runs");
    let shape = |text: &str| Some(text.parse().expect("a shape"));
    let caches = Shapes { ic: shape("4:1:16"), dc: shape("2:1:8"), l2: shape("64:1:64") };
    let (_, console, counts) = run(&job, Watch::Beside { caches, fence: false }).expect("runs");
    assert_eq!(console, "getpid 1: 96 cycles\n");
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("hexadecimal");
    let mut ic = [None; 4];
    let mut dc = [None; 2];
    let (mut fetched, mut fetches, mut fetch_misses) = (0, 0, 0);
    let (mut loads, mut stores, mut load_misses, mut store_misses, mut dirty) = (0, 0, 0, 0, 0);
    for line in trace.lines().filter(|line| !line.contains(": trap ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let line = number(words[3]) / 16;
        fetches += 1;
        fetched += words[4].len() as u64 / 2 - 2;
        fetch_misses += u64::from(ic[line as usize % 4].replace(line) != Some(line));
        for (at, _) in words.iter().enumerate().filter(|(_, word)| **word == "mem") {
            // What is stored follows the address; nothing follows that of a load.
            let store = words.get(at + 2).is_some_and(|word| word.starts_with("0x"));
            let line = number(words[at + 1]) / 8;
            *if store { &mut stores } else { &mut loads } += 1;
            let place = &mut dc[line as usize % 2];
            match place {
                Some((known, written)) if *known == line => *written |= store,
                _ => {
                    *if store { &mut store_misses } else { &mut load_misses } += 1;
                    dirty += u64::from(place.is_some_and(|(_, written)| written));
                    *place = Some((line, store));
                }
            }
        }
    }
    let count = |what: &str| {
        let line = counts.lines().find(|line| line.starts_with(what)).expect(what);
        line[what.len()..].trim().parse::<u64>().expect("a number")
    };
    let names =
        ["Bytes Read:", "Read Accesses:", "Read Misses:", "Write Accesses:", "Write Misses:", "Writebacks:"];
    let of = |cache: &str| names.map(|name| count(&format!("{cache} {name}")));
    assert_eq!(of("I$"), [fetched, fetches, fetch_misses, 0, 0, 0]);
    assert_eq!(of("D$")[1..], [loads, load_misses, stores, store_misses, dirty]);
    let l2 = of("L2$");
    let missed = load_misses + store_misses;
    assert_eq!((l2[0], l2[1], l2[3]), (16 * fetch_misses + 8 * missed, fetch_misses + missed, dirty));
    assert!(dirty > 0 && load_misses > 0 && counts.contains("I$ Miss Rate:             "), "{counts}");
}

/// A program of these instructions at the start of RAM, with these symbols.

#[test]
fn code_that_is_executed_after_it_was_written_gets_a_warning_without_fence_i() {
    let nop = insn(Op::Addi, 0, 0, 0, 0);
    let warning = |between: u32, offset: i64| {
        let patch = [
            insn(Op::Auipc, 5, 0, 0, 0),
            insn(Op::Addi, 6, 0, 0, i64::from(nop)),
            insn(Op::Sw, 0, 5, 6, offset),
            between,
            nop,
        ];
        let code = [&patch[..], &off()].concat();
        let program = elf(&code, &[("main", 0x8000_0000), ("patched", 0x8000_0010)]);
        let job = Job { machine: MachineKind::Virt, ..job(program) };
        let watch = Watch::Beside { caches: Shapes::default(), fence: true };
        let (outcome, ..) = run(&job, watch).expect("runs");
        assert_eq!(outcome.ending, Ending::Exited(0));
        outcome.warning
    };
    let fence = insn(Op::FenceI, 0, 0, 0, 0);
    let told = warning(nop, 16).expect("a warning");
    let place = "(1 times): 0x80000010 in patched, in a page written by 0x80000008 in main";
    assert!(told.ends_with(place), "{told}");
    assert_eq!(warning(fence, 16), None);
    // Data behind the code, in the same page.
    assert_eq!(warning(nop, 64), None);
}

/// RAM is where a bare program is: same instructions, same cycles, a stack; and an `ecall` ends it at once, as in Ripes.
#[test]
fn a_bare_program_runs_where_it_is_linked() {
    let ecall = insn(Op::Ecall, 0, 0, 0, 0);
    let code = |number: i64| {
        [
            insn(Op::Auipc, 5, 0, 0, 0),
            insn(Op::Addi, 10, 0, 0, 7),
            insn(Op::Sd, 0, 5, 10, 0x200),
            insn(Op::Ld, 11, 5, 0, 0x200),
            insn(Op::Addi, 10, 11, 0, -3),
            insn(Op::Addi, 17, 0, 0, number),
            ecall,
        ]
    };
    let job_at = |base: u64, number: i64| {
        let mut words = code(number).to_vec();
        words.resize(0x100, 0);
        // Beyond the first slice, in the second of which nothing retires.
        Job { max_instructions: 3_000_000, ..job(elf_at(base, &words, &[])) }
    };
    let on_rocket = |base: u64| {
        let core = Box::new(Core::preset("rocket").expect("a preset"));
        let (outcome, ..) = run(&job_at(base, 93), Watch::Ledger(core, GuestTime::Functional)).expect("runs");
        assert_eq!((outcome.ending, outcome.instructions), (Ending::Exited(4), 6), "{base:#x}");
        outcome.ledger.expect("a ledger").cycles()
    };
    let usual = on_rocket(0x8000_0000);
    // Six instructions, one line of code and one of data: what comes behind the `ecall` would take millions.
    assert!((6..1_000).contains(&usual), "{usual}");
    for base in [0x1_0000, 0x20_0000, 0x4000_0000] {
        assert_eq!(on_rocket(base), usual, "{base:#x}");
    }
    assert_eq!(run(&job_at(0x1_0000, 10), Watch::Nothing).expect("runs").0.ending, Ending::Exited(0));
    let told = run(&job_at(0x1_0000, 56), Watch::Nothing).expect("runs").0.verdict();
    assert!(told.contains("with 56 in a7") && told.contains("--pk PK"), "{told}");
    // The first word below the end of RAM is the stack's.
    let pushes = [insn(Op::Sd, 0, 2, 2, -8), insn(Op::Ld, 10, 2, 0, -8), insn(Op::Addi, 17, 0, 0, 93), ecall];
    let pushed = Job { max_instructions: 3_000_000, ..job(elf_at(0x1_0000, &pushes, &[])) };
    let pushed = run(&pushed, Watch::Nothing).expect("runs").0;
    // 1 MiB less 16 bytes: QEMU's finisher would be there.
    assert_eq!(pushed.ending, Ending::Exited((1 << 20) - 16));
    // A device is in the way of this one.
    let mut across = elf_at(0x10_0000, &pushes, &[]);
    across[64 + 40..64 + 48].copy_from_slice(&(32_u64 << 20).to_le_bytes());
    assert!(matches!(run(&job(across), Watch::Nothing), Err(ProgramError::Program(_))));
}

/// A program without start-up code returns to the address that `ra` has at reset, or runs into what is behind its code.
#[test]
fn a_bare_program_ends_where_it_returns_and_where_its_code_ends() {
    let main = [insn(Op::Addi, 10, 0, 0, 3), insn(Op::Jalr, 0, 1, 0, 0)];
    let run = |words: &[u32]| {
        let job = Job { max_instructions: 3_000_000, ..job(elf_at(0x1_0000, words, &[])) };
        run(&job, Watch::Nothing).expect("runs").0
    };
    let outcome = run(&main);
    assert_eq!((outcome.ending, outcome.instructions), (Ending::Exited(0), 2));
    // A jump to 0 from within a call is not a return, and a trap handler takes its fault.
    let call = [insn(Op::Jal, 1, 0, 0, 4), insn(Op::Jalr, 0, 0, 0, 0)];
    assert!(run(&call).verdict().contains("instruction access fault at 0x0"));
    let handler = [insn(Op::Addi, 5, 0, 0, 4), insn(Op::Csrrw, 0, 5, 0, 0x305), insn(Op::Jalr, 0, 1, 0, 0)];
    assert!(matches!(run(&handler).ending, Ending::Stuck(_)));

    // `main` is the last function, and falls off its end.
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("end.s");
    std::fs::write(&source, ".globl main\nmain: li a0, 5\nnop\n.section .data\n.word 0\n").unwrap();
    let built = tollgate_lab::icache::compile(&source, "rv64imc", "rv64imc".parse().unwrap(), "2").unwrap();
    let job = Job { max_instructions: 3_000_000, ..job(built.elf) };
    let outcome = self::run(&job, Watch::Nothing).expect("runs").0;
    assert_eq!((outcome.ending, outcome.instructions), (Ending::Exited(0), 2));
}

/// Spike writes the bytes of a line from the highest to the lowest, and fills the last line with zeros.
#[test]
fn a_signature_is_the_memory_between_two_symbols() {
    let data = [0x0403_0201_u32, 0x0807_0605, 0x0c0b_0a09];
    let code = [&off()[..], &data].concat();
    let signature = |symbols: &[(&str, u64)], line| {
        let job = Job { machine: MachineKind::Virt, signature: Some(line), ..job(elf(&code, symbols)) };
        run(&job, Watch::Nothing).map(|(outcome, ..)| outcome.signature.expect("it ended"))
    };
    let both = [("begin_signature", 0x8000_0010), ("end_signature", 0x8000_001c)];
    assert_eq!(signature(&both, 4).expect("runs"), "04030201\n08070605\n0c0b0a09\n");
    assert_eq!(signature(&both, 8).expect("runs"), "0807060504030201\n000000000c0b0a09\n");
    for symbols in [&both[..1], &[("begin_signature", 0x8000_001c), ("end_signature", 0x8000_0010)]] {
        let error = signature(symbols, 4).expect_err("no signature").to_string();
        assert!(error.contains("begin_signature and end_signature"), "{error}");
    }
}

/// The lines of one mode are those of the whole trace with its letter, and an address space that is not there has none.
#[test]
fn a_trace_can_be_limited_to_modes_and_address_spaces() {
    let job = Job { max_instructions: 60_000, ..job(image("full")) };
    let trace = |modes: &[Privilege], space| {
        let filter = Filter { modes: modes.to_vec(), space };
        run(&job, Watch::Trace(Trace::Commit, filter)).expect("runs").2
    };
    let all = trace(&[], None);
    for (mode, number) in [(Privilege::User, "0"), (Privilege::Supervisor, "1"), (Privilege::Machine, "3")] {
        let retired = |text: &str| -> Vec<String> {
            text.lines().filter(|line| !line.contains(": trap ")).map(str::to_owned).collect()
        };
        let mut expected = retired(&all);
        expected.retain(|line| line.split_whitespace().nth(2) == Some(number));
        assert!(!expected.is_empty() && retired(&trace(&[mode], None)) == expected, "{mode:?}");
    }
    let satp = all.lines().find_map(|line| Some(line.split_once("c384_satp 0x")?.1[..16].to_owned()));
    let satp = u64::from_str_radix(&satp.expect("paging is switched on"), 16).expect("hexadecimal");
    // The identifier of an address space (privileged specification, 12.1.11).
    let asid = satp >> 44 & 0xffff;
    let user = trace(&[Privilege::User], None);
    assert!(trace(&[Privilege::User], Some(satp)) == user && trace(&[Privilege::User], Some(asid)) == user);
    assert_eq!(trace(&[], Some(asid ^ 0x100)), "");
}

/// A guest that counts the misses of its data cache: 64 lines of 64 bytes that it did not touch before, and then the same ones
/// again, which fit. Without a core's time there is nothing to count.
#[test]
fn counters_of_events_count_those_of_the_core() {
    let (event, counter) = (0x323, 0xb03);
    let code = [
        insn(Op::Addi, 5, 0, 0, 2),
        insn(Op::Csrrw, 0, 5, 0, event),
        insn(Op::Auipc, 6, 0, 0, 0x1_0000),
        insn(Op::Addi, 7, 0, 0, 64),
        insn(Op::Ld, 8, 6, 0, 0),
        insn(Op::Addi, 6, 6, 0, 64),
        insn(Op::Addi, 7, 7, 0, -1),
        insn(Op::Bne, 0, 7, 0, -12),
        insn(Op::Csrrs, 10, 0, 0, counter),
        insn(Op::Auipc, 6, 0, 0, 0x1_0000),
        insn(Op::Addi, 6, 6, 0, -28),
        insn(Op::Ld, 8, 6, 0, 0),
        insn(Op::Ld, 8, 6, 0, 1024),
        insn(Op::Csrrs, 11, 0, 0, counter),
        // The misses of both, times 256 the first ones.
        insn(Op::Sub, 11, 11, 10, 0),
        insn(Op::Slli, 11, 11, 0, 8),
        insn(Op::Add, 10, 10, 11, 0),
        insn(Op::Addi, 17, 0, 0, 93),
        insn(Op::Ecall, 0, 0, 0, 0),
    ];
    let job = job(elf_at(0x8000_0000, &code, &[]));
    let counted = |time| {
        let core = Box::new(Core::preset("rocket").expect("a preset"));
        run(&job, Watch::Ledger(core, time)).expect("runs").0.ending
    };
    assert_eq!(counted(GuestTime::Model), Ending::Exited(64));
    assert_eq!(counted(GuestTime::Functional), Ending::Exited(0));
}

/// Copies its input to its output, at most eight bytes at a time, through the host of Spike's machine.
#[test]
fn a_program_reads_its_standard_input_to_its_end() {
    let (tohost, fromhost, block, buffer) = (0x100, 0x140, 0x180, 0x1c0);
    let mut code =
        vec![insn(Op::Auipc, 8, 0, 0, 0), insn(Op::Addi, 9, 8, 0, block), insn(Op::Addi, 18, 8, 0, buffer)];
    let again = code.len();
    let call = |number: i64, fd: i64| {
        [
            insn(Op::Addi, 5, 0, 0, number),
            insn(Op::Sd, 0, 9, 5, 0),
            insn(Op::Addi, 5, 0, 0, fd),
            insn(Op::Sd, 0, 9, 5, 8),
            insn(Op::Sd, 0, 9, 18, 16),
            insn(Op::Sd, 0, 9, 19, 24),
            insn(Op::Sd, 0, 8, 0, fromhost),
            insn(Op::Sd, 0, 8, 9, tohost),
            insn(Op::Ld, 5, 8, 0, fromhost),
            insn(Op::Beq, 0, 5, 0, -4),
            insn(Op::Ld, 19, 9, 0, 0),
        ]
    };
    code.push(insn(Op::Addi, 19, 0, 0, 8));
    code.extend(call(63, 0));
    // Nothing: the end.
    code.push(insn(Op::Beq, 0, 19, 0, 4 * 13));
    code.extend(call(64, 1));
    code.push(insn(Op::Jal, 0, 0, 0, 4 * (again as i64 - code.len() as i64)));
    code.extend([insn(Op::Addi, 5, 0, 0, 1), insn(Op::Sd, 0, 8, 5, tohost), insn(Op::Jal, 0, 0, 0, 0)]);
    code.resize(0x80, 0);
    let base = 0x8000_0000;
    let symbols = [("tohost", base + tohost as u64), ("fromhost", base + fromhost as u64)];
    let job = job(elf(&code, &symbols));
    let copied = |text: &str| {
        let mut console = Vec::new();
        let outcome = program::run(
            &job,
            Watch::Nothing,
            &mut text.as_bytes(),
            &mut console,
            &mut std::io::sink(),
            &|| false,
        );
        assert_eq!(outcome.expect("runs").ending, Ending::Exited(0));
        String::from_utf8(console).expect("text")
    };
    for text in ["", "short", "a line that takes several reads\n"] {
        assert_eq!(copied(text), text);
    }
    assert_eq!(copied(&"0123456789".repeat(1000)), "0123456789".repeat(1000));
}
