//! Programs on the embedded machine: their output, how they end, and damage of every kind.

use std::fs;

use tollgate_lab::program::{self, Ending, GuestTime, Job, Outcome, ProgramError, Watch};
use tollgate_lab::{Profile, Tier, Trace};
use tollgate_riscv::timing::Core;
use tollgate_testkit::fast;

fn image(name: &str) -> Vec<u8> {
    let path = format!("{}/../../guests/riscv/images/{name}.elf", env!("CARGO_MANIFEST_DIR"));
    fs::read(&path).expect(&path)
}

fn job(program: Vec<u8>) -> Job {
    Job {
        ram_bytes: 8 << 20,
        program,
        arguments: vec!["program".into()],
        max_instructions: 1_000_000,
        ..Job::default()
    }
}

fn run(job: &Job, watch: Watch) -> Result<(Outcome, String, String), ProgramError> {
    let (mut console, mut trace) = (Vec::new(), Vec::new());
    let outcome = program::run(job, watch, &mut console, &mut trace)?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok((outcome, text(console), text(trace)))
}

#[test]
fn watching_changes_nothing() {
    let job = job(image("ctx_switch"));
    let (plain, console, _) = run(&job, Watch::Nothing).expect("runs");
    assert_eq!(plain.ending, Ending::Exited(0));
    assert_eq!(console, "getpid 1: 96 cycles\n");
    for watch in [Watch::Profile, Watch::Trace(Trace::Commit), Watch::Trace(Trace::Disasm)] {
        let (watched, also, trace) = run(&job, watch.clone()).expect("runs");
        assert_eq!(
            (watched.instructions, &watched.ending, &also),
            (plain.instructions, &plain.ending, &console)
        );
        if let Watch::Trace(_) = watch {
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
    let error = on(Tier::Translate, "rv64gc", Watch::Profile).err().expect("profiles need the interpreter");
    assert!(error.to_string().contains("--profile"), "{error}");
    assert!(on(Tier::Auto, "rv64gc", Watch::Profile).is_ok());
}

/// A program whose first instruction is illegal: what happened first, not where the handler is lost.
#[test]
fn a_program_that_dies_says_cause_place_and_value_of_its_first_trap() {
    let mut bytes = image("ctx_switch");
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    // The entry point, and the first segment's offset and address.
    let at = (number(24) - number(64 + 16) + number(64 + 8)) as usize;
    bytes[at..at + 4].copy_from_slice(&0xffff_ffff_u32.to_le_bytes());
    for watch in [Watch::Nothing, Watch::Profile, Watch::Trace(Trace::Commit)] {
        let (outcome, ..) = run(&job(bytes.clone()), watch).expect("runs");
        let expected = "illegal instruction at 0x80000000 in _start (tval 0xffffffff), and the handler at 0x0 does \
                        nothing but trap again";
        assert_eq!(outcome.ending, Ending::Stuck(expected.into()));
    }
}

/// `la t0, HANDLER; csrw mtvec, t0`, several times: the line of the second has what the one before wrote to x5.
#[test]
fn a_commit_trace_has_the_csrs_that_are_written() {
    let (_, _, trace) = run(&job(image("ctx_switch")), Watch::Trace(Trace::Commit)).expect("runs");
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
    assert_eq!(outcome.refused, ["/etc/hostname"]);
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
