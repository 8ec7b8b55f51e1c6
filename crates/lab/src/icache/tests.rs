use super::build::SOURCE;
use super::*;
use crate::source::SourceError;

/// A further trial: Ripes squashes the two instructions behind a branch that is taken, or a `jal`, even if the target is
/// the next instruction.
#[test]
fn a_jump_to_the_next_instruction_fetches_two_in_vain() {
    use tollgate_riscv::{Decoder, Observer, Privilege, Retired};
    let build = BUNDLED[0].build();
    let elf = Elf::parse(&build.elf).unwrap();
    let accesses = |word: u32, taken: bool| {
        let code = Code::of(&build.elf, &elf, build.isa);
        let plan = Settings { count: Count::Cycle, ..Settings::default() };
        let mut fetches = Fetches::new(code, true, plan.count, Seen::new(&plan).unwrap());
        for pc in [elf.entry, elf.entry + 4] {
            let insn = Decoder::new(build.isa).decode(word).unwrap();
            let (next_pc, privilege) = (pc + 4, Privilege::Machine);
            let (value, operands, instret) = (0, [0; 2], 0);
            fetches.retire(&Retired {
                pc,
                pa: pc,
                next_pc,
                insn,
                word,
                privilege,
                value,
                operands,
                taken,
                instret,
            });
        }
        fetches.finish(&build, true).accesses
    };
    // beq zero, zero, 4 and jal zero, 4; the last one's two are part of what leaves the pipe.
    let not_taken = accesses(0x0000_0263, false);
    assert_eq!(accesses(0x0000_0263, true), not_taken + 2);
    assert_eq!(accesses(0x0040_006f, false), not_taken + 2);
}

/// Memory after the end of the code is not executed.
#[test]
fn a_program_ends_where_its_code_does() {
    use tollgate_riscv::{Decoder, Observer, Privilege, Retired};
    let build = BUNDLED[0].build();
    let elf = Elf::parse(&build.elf).unwrap();
    let plan = Settings::default();
    let code = Code::of(&build.elf, &elf, build.isa);
    let end = elf.entry + (0..).step_by(4).find(|offset| !code.contains(elf.entry + offset)).unwrap();
    let mut fetches = Fetches::new(code, true, plan.count, Seen::new(&plan).unwrap());
    let nop = Decoder::new(build.isa).decode(0x13).unwrap();
    for pc in [end - 4, end, end + 4] {
        fetches.retire(&Retired {
            pc,
            pa: pc,
            next_pc: pc + 4,
            insn: nop,
            word: 0x13,
            privilege: Privilege::Machine,
            value: 0,
            operands: [0; 2],
            taken: false,
            instret: 0,
        });
    }
    assert!(fetches.has_left());
    assert_eq!(fetches.retired(), 1);
}

/// The usual end of a program in Ripes.
#[test]
fn an_ecall_without_a_handler_ends_a_program() {
    let mut build = BUNDLED[0].build();
    let elf = Elf::parse(&build.elf).unwrap();
    let segment = elf.segments.iter().find(|it| it.executable).unwrap();
    let start = (elf.entry - segment.address) as usize;
    let wanted = &segment.data[start..start + 16];
    let at = build.elf.windows(16).position(|window| window == wanted).unwrap();
    for (i, word) in [0x13_u32, 0x13, 0x73].into_iter().enumerate() {
        build.elf[at + 4 * i..at + 4 * i + 4].copy_from_slice(&word.to_le_bytes());
    }
    let report = run(&build, &Settings::default()).unwrap();
    assert!(report.ended);
    assert_eq!(report.accesses, 2);
}

/// Without `-ffreestanding`, Debian's compiler looks for a C library's header.
#[test]
fn a_source_may_include_stdint() {
    if tollgate_testkit::program("riscv64-unknown-elf-gcc").is_none() {
        return tollgate_testkit::skip!(
            "no riscv64-unknown-elf-gcc: apt-get install gcc-riscv64-unknown-elf"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("note.c");
    std::fs::write(&source, "#include <stdint.h>\nint main(void) { return (uint32_t)1; }\n").unwrap();
    let isa = "rv32im".parse().unwrap();
    let report = run(&compile(&source, "rv32im", isa, "2").unwrap(), &Settings::default()).unwrap();
    assert!(report.ended);
    assert_eq!(report.accesses, 2, "li and ret");
}

/// The published counts of the course note's program, which our own source was written to have: accesses, and
/// misses with eight and with four lines of eight bytes, in Ripes' five-stage model. With -O2 and the C extension
/// Ripes has 20,558 misses in four lines: there the note's loop ends two bytes earlier than ours.
#[test]
fn counts_are_those_of_ripes() {
    let plan = Settings {
        caches: vec!["8:1:8".parse().unwrap(), "4:1:8".parse().unwrap()],
        count: Count::Cycle,
        ..Settings::default()
    };
    let published = [
        ("rv32im", "1", 16_391, 13, Some(8_197)),
        ("rv32imc", "1", 16_391, 9, Some(4_101)),
        ("rv32im", "2", 163_989, 20_585, Some(92_222)),
        ("rv32imc", "2", 163_989, 70, None),
    ];
    for (bundled, (isa, opt, accesses, eight, four)) in BUNDLED.iter().zip(published) {
        assert_eq!((bundled.isa, bundled.opt), (isa, opt));
        let report = run(&bundled.build(), &plan).unwrap();
        assert!(report.ended);
        assert_eq!(report.accesses, accesses, "{isa} -O{opt}");
        assert_eq!(report.cycles, accesses - 1);
        assert_eq!(report.caches[0].cache.counts().misses(), eight, "{isa} -O{opt}");
        if let Some(four) = four {
            assert_eq!(report.caches[1].cache.counts().misses(), four, "{isa} -O{opt}");
        }
    }
}

/// Sizes are those published for the note's program. Misses are Spike's less eight lines that are missed outside
/// the program: three of the boot ROM and five of its start-up code.
#[test]
fn sizes_and_misses_are_those_of_spike() {
    let caches = ["2:1:8", "4:1:8", "8:1:8"].map(|text| text.parse().unwrap());
    let plan = Settings { caches: caches.to_vec(), ..Settings::default() };
    let plain = run(&BUNDLED[2].build(), &plan).unwrap();
    let misses: Vec<u64> = plain.caches.iter().map(|cache| cache.cache.counts().misses() + 8).collect();
    assert_eq!(misses, [81_977, 81_977, 101]);
    assert_eq!((plain.build.object_text, plain.code.bytes()), (Some(160), 156));
    let compressed = run(&BUNDLED[3].build(), &plan).unwrap();
    assert_eq!((compressed.build.object_text, compressed.code.bytes()), (Some(98), 92));
    assert_eq!(plain.accesses, compressed.accesses);
    assert_eq!(plain.dynamic_mix.compressed, 0);
    assert!(compressed.dynamic_mix.bytes < plain.dynamic_mix.bytes);
}

/// Counts that exist twice agree: sets with the cache, causes with misses, the curve with the fully associative end of the
/// sweep.
#[test]
fn a_report_agrees_with_itself() {
    let caches = ["8:1:8", "1:8:8", "2:4:16"].map(|text| text.parse().unwrap());
    for count in [Count::Fetch, Count::Cycle] {
        let plan = Settings { caches: caches.to_vec(), sweep: true, count, ..Settings::default() };
        for bundled in &BUNDLED {
            let report = run(&bundled.build(), &plan).unwrap();
            assert_eq!(report.sweep.len(), 1056);
            for cache in &report.caches {
                assert_eq!(cache.cache.counts().accesses(), report.accesses);
                assert_eq!(cache.set_misses.iter().sum::<u64>(), cache.cache.counts().misses());
                assert_eq!(cache.set_accesses.iter().sum::<u64>(), report.accesses);
                assert_eq!(cache.causes.split().misses(), cache.cache.counts().misses());
                let swept = report.sweep.iter().find(|point| point.0 == cache.cache.geometry()).unwrap();
                assert_eq!(swept.1, cache.cache.counts().misses());
            }
            let full = &report.caches[1];
            assert_eq!(full.causes.split().conflict, 0);
            let at_eight = full.causes.distances().curve().iter().rfind(|&&(lines, _)| lines <= 8).unwrap().1;
            assert_eq!(at_eight, full.cache.counts().misses());
        }
    }
}

/// A program that counts down 65,536 times is stopped at its limit.
#[test]
fn a_program_that_does_not_end_is_stopped() {
    let plan =
        Settings { caches: vec!["8:1:8".parse().unwrap()], max_instructions: 1000, ..Settings::default() };
    let report = run(&BUNDLED[0].build(), &plan).unwrap();
    assert!(!report.ended);
    assert_eq!(report.accesses, 1000);
    assert!(record::measured(&report)[0].has_warning(tollgate_record::warning::STOPPED));
}

/// The sizes of objects in the table are those of the compiler.
#[test]
fn object_sizes_are_the_compilers() {
    if tollgate_testkit::program("riscv64-unknown-elf-gcc").is_none() {
        return tollgate_testkit::skip!(
            "no riscv64-unknown-elf-gcc: apt-get install gcc-riscv64-unknown-elf"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("icache.c");
    std::fs::write(&source, SOURCE).unwrap();
    for bundled in &BUNDLED {
        let tree = bundled.build();
        let built = compile(&source, bundled.isa, tree.isa, bundled.opt).unwrap();
        assert_eq!(built.object_text, tree.object_text, "{} -O{}", bundled.isa, bundled.opt);
        let plan = Settings::default();
        assert_eq!(run(&built, &plan).unwrap().code.bytes(), run(&tree, &plan).unwrap().code.bytes());
    }
}

/// Two independent counts: the pipeline that is timed, and the accesses of `--count cycle`,
/// one a cycle. With a latency each miss of a program whose instructions never span two lines waits for that long.
#[test]
fn cycles_are_those_of_the_pipeline_and_a_wait_for_each_miss() {
    for bundled in BUNDLED {
        let build = bundled.build();
        let plan = |count, miss_latency| Settings {
            caches: vec!["4:1:8".parse().unwrap(), "8:1:8".parse().unwrap()],
            count,
            miss_latency,
            ..Settings::default()
        };
        let by_access = run(&build, &plan(Count::Cycle, 0)).unwrap().cycles;
        let free = run(&build, &plan(Count::Fetch, 0)).unwrap();
        let delayed = run(&build, &plan(Count::Fetch, 7)).unwrap();
        for (free, delayed) in free.caches.iter().zip(&delayed.caches) {
            let (free, misses) = (free.timing.unwrap(), delayed.cache.counts().misses());
            let delayed = delayed.timing.unwrap();
            assert_eq!(free, Timing { cycles: by_access, waiting: 0 }, "{}", build.name);
            assert_eq!(delayed.cycles, by_access + delayed.waiting, "{}", build.name);
            let may_straddle = build.isa.to_string().contains('c');
            if !may_straddle {
                assert_eq!(delayed.waiting, 7 * misses, "{}", build.name);
            }
        }
    }
}

/// At eight places the same code begins one alignment later each time.
#[test]
fn a_source_is_built_at_eight_places() {
    for (isa, step) in [("rv32im", 4), ("rv32imc", 2)] {
        let builds = match bundled_aligned(isa, isa.parse().unwrap(), "2") {
            Err(IcacheError::Source(error @ SourceError::NoCompiler)) => {
                return tollgate_testkit::skip!("{error}");
            }
            builds => builds.unwrap(),
        };
        let entry = |build: &Build| Elf::parse(&build.elf).unwrap().entry;
        let first = entry(&builds[0]);
        let moved: Vec<u64> = builds.iter().map(|build| entry(build) - first).collect();
        assert_eq!(moved, (0..8).map(|place| place * step).collect::<Vec<u64>>());
        assert_eq!(builds[7].name, format!("{isa} +{}", 7 * step));
    }
}

/// Of a kernel and its program, which runs in user mode, what the program does: the same instructions with and without an
/// observer in between, and an access for each of its loads and stores.
#[test]
fn what_a_program_does_is_seen_without_its_kernel() {
    use super::user::UserMode;
    use tollgate_riscv::{Access, Class, Observer, Privilege, Retired};

    #[derive(Default)]
    struct Counts {
        user: u64,
        kernel: u64,
        touching: u64,
        accesses: u64,
    }

    impl Observer for Counts {
        const RETIRE: bool = true;
        const MEMORY: bool = true;

        fn retire(&mut self, retired: &Retired) {
            let is_user = retired.privilege == Privilege::User;
            self.user += u64::from(is_user);
            self.kernel += u64::from(!is_user);
            self.touching += u64::from(matches!(retired.insn.row().class, Class::Load | Class::Store));
        }

        fn access(&mut self, _: &Access) {
            self.accesses += 1;
        }
    }

    let image = include_bytes!("../../guests/riscv/images/full.elf");
    let elf = Elf::parse(image).unwrap();
    let run = |observer: &mut dyn FnMut(&mut Machine)| {
        let mut machine = Machine::new(Config::default()).unwrap();
        machine.load(&elf).unwrap();
        observer(&mut machine);
    };
    let (mut all, mut program) = (Counts::default(), Counts::default());
    run(&mut |machine| assert!(matches!(machine.run(10_000_000, &mut all), Stop::Exit { .. })));
    run(&mut |machine| {
        let mut user = UserMode::new(&mut program);
        assert!(matches!(machine.run(10_000_000, &mut user), Stop::Exit { .. }));
    });
    assert!(all.kernel > 0 && program.user > 0 && program.touching > 0);
    assert_eq!((program.user, program.kernel), (all.user, 0));
    assert_eq!(program.accesses, program.touching);
}
