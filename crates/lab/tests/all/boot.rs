//! Kernels: one made of a few instructions, and Debian's.

use std::process::Command;
use std::sync::mpsc;
use std::{env, fs};

use tollgate_cores::Core;
use tollgate_lab::Tier;
use tollgate_lab::boot::{self, BootEnding, BootJob, BootOutcome, Input, Until};
use tollgate_lab::system::{self, Watch};
use tollgate_record::family::ProgramAsked;
use tollgate_riscv::{Insn, Machine, Op, Operands};

/// The instructions of `tollgate riscv boot`.
const ISA: &str = "rv64gc_zba_zbb_zbs_zicbom_zicboz_sstc_svinval_svpbmt";

fn job(kernel: Vec<u8>) -> BootJob {
    BootJob {
        isa: ISA.parse().unwrap(),
        harts: 1,
        ram_bytes: 8 << 20,
        kernel,
        firmware: None,
        initrd: None,
        append: String::new(),
        network: false,
        max_instructions: 10_000_000,
    }
}

/// Linux's header in front of some instructions.
fn image(code: &[Insn2]) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    // A jump over the header.
    let jump = Insn::encode(Op::Jal, Operands { imm: 64, ..Default::default() });
    bytes[..4].copy_from_slice(&jump.to_le_bytes());
    bytes[8..16].copy_from_slice(&0x20_0000_u64.to_le_bytes());
    bytes[56..60].copy_from_slice(b"RSC\x05");
    bytes.extend(code.iter().flat_map(|&(op, o)| Insn::encode(op, o).to_le_bytes()));
    bytes
}

type Insn2 = (Op, Operands);

fn op(op: Op, rd: u8, rs1: u8, rs2: u8, imm: i64) -> Insn2 {
    (op, Operands { rd, rs1, rs2, imm, ..Default::default() })
}

/// Prints a letter by the legacy console, then does `then`.
fn prints(letter: u8, then: &[Insn2]) -> Vec<u8> {
    let mut code = vec![
        op(Op::Addi, 17, 0, 0, 1),
        op(Op::Addi, 10, 0, 0, i64::from(letter)),
        op(Op::Ecall, 0, 0, 0, 0),
        op(Op::Addi, 17, 0, 0, 8),
    ];
    code.extend(then);
    image(&code)
}

/// A machine that is driven until its kernel ends, or to a point.
fn drive(machine: &mut Machine, most: u64, until: Option<&Until>, typed: &[u8]) -> (BootOutcome, String) {
    let input = Input { first: typed.to_vec(), bytes: mpsc::sync_channel(1).1, person: false };
    let mut console = Vec::new();
    let outcome = boot::run(machine, most, until, &input, &mut console, &|| false).unwrap();
    (outcome, String::from_utf8_lossy(&console).into_owned())
}

fn run(job: &BootJob, typed: &[u8]) -> (BootOutcome, String) {
    drive(&mut boot::prepare(job, None).unwrap(), job.max_instructions, None, typed)
}

#[test]
fn how_a_kernel_ends_is_said_with_its_last_lines() {
    let spin = op(Op::Jal, 0, 0, 0, 0);
    let wait = [op(Op::Wfi, 0, 0, 0, 0), op(Op::Jal, 0, 0, 0, -4)];
    let run_on = [op(Op::Addi, 5, 5, 0, 1), op(Op::Jal, 0, 0, 0, -4)];
    let cases: [(&[Insn2], BootEnding, &str); 4] = [
        (&[op(Op::Ecall, 0, 0, 0, 0)], BootEnding::PoweredOff(0), "powered off after 6 instructions"),
        (
            &[spin],
            BootEnding::Caught(0x8020_0050),
            "the instruction at 0x80200050 jumps to itself, and interrupts are disabled; the kernel's last lines:\n  K",
        ),
        (&run_on, BootEnding::Budget, "--max-instructions gives it more; the kernel's last lines:\n  K"),
        (&wait, BootEnding::NoInput, "the input has ended; the kernel's last lines:\n  K"),
    ];
    for (then, ending, sentence) in cases {
        let (outcome, console) = run(&job(prints(b'K', then)), b"");
        assert_eq!((&outcome.ending, console.as_str()), (&ending, "K"));
        assert!(outcome.verdict().contains(sentence), "{}", outcome.verdict());
        assert_eq!(outcome.is_success(), ending == BootEnding::PoweredOff(0));
    }
    // A jump to nowhere, with a handler at 0: nothing but traps.
    let kernel = prints(b'K', &[op(Op::Jalr, 0, 0, 0, 0)]);
    let (outcome, _) = run(&BootJob { max_instructions: 100_000_000, ..job(kernel) }, b"");
    let sentence =
        "instruction access fault at 0x0 (tval 0x0), and the handler at 0x0 does nothing but trap again";
    assert!(outcome.verdict().contains(sentence), "{}", outcome.verdict());
}

/// Linux prints a time before its last words. A program may print them as well, and a kernel may go on.
#[test]
fn a_kernel_that_panics_is_not_waited_for() {
    let says = |text: &str, then: &[Insn2]| {
        let print = |letter: u8| {
            [op(Op::Addi, 17, 0, 0, 1), op(Op::Addi, 10, 0, 0, i64::from(letter)), op(Op::Ecall, 0, 0, 0, 0)]
        };
        let mut code: Vec<Insn2> = text.bytes().flat_map(print).collect();
        code.extend(then);
        run(&BootJob { max_instructions: 30_000_000, ..job(image(&code)) }, b"").0
    };
    let run_on = [op(Op::Addi, 5, 5, 0, 1), op(Op::Jal, 0, 0, 0, -4)];
    for text in ["[    0.5] ---[ end Kernel panic - not syncing: VFS ]---\n", "\npanic: kerneltrap\n"] {
        let outcome = says(text, &run_on);
        assert_eq!(outcome.ending, BootEnding::Panicked, "{text}");
        assert!(outcome.instructions < 20_000_000);
        let last = text.trim();
        let sentence = format!("the kernel panicked; the kernel's last lines:\n  {last}");
        assert!(outcome.verdict().ends_with(&sentence), "{}", outcome.verdict());
    }
    // What steers a terminal is shown as what it is.
    let verdict = says("panic: \u{202e}\u{9b}2J\u{1b}[31mx\n", &run_on).verdict();
    assert!(verdict.ends_with("last lines:\n  panic: ??2J?[31mx"), "{verdict}");
    assert_eq!(says("do not panic: wait\n", &run_on).ending, BootEnding::Budget);
    // It prints on, for ever.
    let prints_on = [op(Op::Addi, 17, 0, 0, 1), op(Op::Ecall, 0, 0, 0, 0), op(Op::Jal, 0, 0, 0, -8)];
    assert_eq!(says("panic: no\n", &prints_on).ending, BootEnding::Budget);
}

/// Functions of a System.map: four instructions print, one switches off, and the jump before them belongs to neither.
#[test]
fn a_profile_counts_the_whole_system_by_function() {
    let job = job(prints(b'K', &[op(Op::Ecall, 0, 0, 0, 0)]));
    let map = b"0000000080200040 T prints\n0000000080200050 T ends\n0000000080200050 T alias\n";
    let on = |core: Option<&Core>| {
        let mut machine = boot::prepare(&job, None).unwrap();
        let mut watch = Watch::profile(&machine, system::functions(map).unwrap(), &[], core).unwrap();
        let input = Input { first: Vec::new(), bytes: mpsc::sync_channel(1).1, person: false };
        let most = job.max_instructions;
        let outcome =
            watch.run(&mut machine, (most, None, &mut |_| true), &input, &mut Vec::new(), &|| false).unwrap();
        assert_eq!((outcome.ending, outcome.instructions), (BootEnding::PoweredOff(0), 6));
        watch.result(ProgramAsked::default()).unwrap()
    };
    let found = |result: &tollgate_record::Measurement| {
        let program = result.found.program().unwrap();
        let mut functions: Vec<(String, u64)> =
            program.functions.iter().map(|it| (it.name.clone(), it.instructions)).collect();
        functions.sort();
        functions
    };
    let expected = [("(before the kernel's addresses)", 1), ("ends", 1), ("prints", 4)]
        .map(|(name, n)| (name.to_owned(), n));
    assert_eq!(found(&on(None)), expected);
    // On a core each cycle belongs to a function, and a path.
    let timed = on(Some(&Core::preset("rocket").unwrap()));
    assert_eq!(found(&timed), expected);
    let program = timed.found.program().unwrap();
    let cycles: u64 = program.functions.iter().flat_map(|it| it.causes.values()).sum();
    assert_eq!(cycles, program.paths.iter().map(|path| path.cycles).sum::<u64>());
    assert_eq!(timed.counter(tollgate_record::counter::CYCLES), Some(cycles as f64));
}

#[test]
fn an_interrupted_boot_ends() {
    let mut machine = boot::prepare(&job(prints(b'K', &[op(Op::Jal, 0, 0, 0, 0)])), None).unwrap();
    let input = Input { first: Vec::new(), bytes: mpsc::sync_channel(1).1, person: false };
    let outcome = boot::run(&mut machine, u64::MAX, None, &input, &mut Vec::new(), &|| true).unwrap();
    assert_eq!(outcome.ending, BootEnding::Interrupted);
}

/// A kernel that prints `K`, counts to 3,000,000, prints `L` and switches off.
fn counts() -> Vec<u8> {
    prints(
        b'K',
        &[
            op(Op::Lui, 5, 0, 0, 1_500_000 & !0xfff),
            op(Op::Addi, 5, 5, 0, 1_500_000 & 0xfff),
            op(Op::Addi, 5, 5, 0, -1),
            op(Op::Bne, 0, 5, 0, -4),
            op(Op::Addi, 17, 0, 0, 1),
            op(Op::Addi, 10, 0, 0, i64::from(b'L')),
            op(Op::Ecall, 0, 0, 0, 0),
            op(Op::Addi, 17, 0, 0, 8),
            op(Op::Ecall, 0, 0, 0, 0),
        ],
    )
}

#[test]
fn what_was_saved_on_the_way_ends_as_what_ran_through() {
    let job = job(counts());
    let (whole, console) = run(&job, b"");
    // A jump, four to print, two for the count, two a turn, five to the end.
    assert_eq!((whole.instructions, console.as_str()), (1 + 4 + 2 + 2 * 1_500_000 + 5, "KL"));
    // Where it is saved, and what was printed until then. The loop is at 0x58 in the image.
    let cases = [
        ("K", None, "K"),
        ("3", Some(3), ""),
        ("2000001", Some(2_000_001), "K"),
        ("2500us", Some(2_500_000), "K"),
        ("0x80200050", Some(5), "K"),
    ];
    for (point, instructions, before) in cases {
        let mut machine = boot::prepare(&job, None).unwrap();
        let until = Until::parse(point, Some(&job.kernel));
        let (saved, printed) = drive(&mut machine, job.max_instructions, until.as_ref(), b"");
        assert_eq!((&saved.ending, printed.as_str()), (&BootEnding::Reached, before), "{point}");
        assert!(instructions.is_none_or(|n| n == saved.instructions), "{point}: {}", saved.instructions);
        let mut restored = Machine::restore_within(u64::MAX, &machine.save().unwrap(), None).unwrap();
        let (rest, printed) = drive(&mut restored, job.max_instructions, None, b"");
        assert_eq!((&rest.ending, rest.instructions), (&whole.ending, whole.instructions), "{point}");
        assert_eq!(format!("{before}{printed}"), console, "{point}");
    }
}

/// Boots the kernel at `TOLLGATE_LINUX` (Debian's linux-image for riscv64) with an initial RAM disk of the busybox at
/// `TOLLGATE_BUSYBOX` (busybox-static for riscv64), types a command and switches off, with one and two harts.
#[test]
fn linux_boots_to_a_shell_runs_a_command_and_powers_off() {
    let (Some(kernel), Some(busybox)) = (env::var_os("TOLLGATE_LINUX"), env::var_os("TOLLGATE_BUSYBOX"))
    else {
        return tollgate_testkit::skip!(
            "TOLLGATE_LINUX and TOLLGATE_BUSYBOX do not name a riscv64 kernel and a static busybox"
        );
    };
    let Some(_) = tollgate_testkit::program("cpio") else {
        return tollgate_testkit::skip!("cpio is missing: apt-get install cpio");
    };
    let dir = tempfile::tempdir().unwrap();
    let script = "mkdir -p root/bin root/dev && cp \"$1\" root/bin/busybox && ln -s busybox root/bin/sh && \
                  printf '#!/bin/sh\\n/bin/busybox mount -t devtmpfs dev /dev\\nexec sh -i </dev/console >/dev/console 2>&1\\n' \
                  > root/init && chmod +x root/init && cd root && find . | cpio -o -H newc > ../initrd";
    let made =
        Command::new("sh").args(["-c", script, "sh"]).arg(&busybox).current_dir(dir.path()).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let initrd = dir.path().join("initrd");
    for harts in [1, 2] {
        let job = BootJob {
            initrd: Some(fs::read(&initrd).unwrap()),
            append: "console=ttyS0 rdinit=/init".into(),
            harts,
            ram_bytes: 512 << 20,
            max_instructions: 20_000_000_000,
            ..job(fs::read(&kernel).unwrap())
        };
        let typed = b"echo $((6 * 7)); busybox nproc; busybox poweroff -f\n";
        let (outcome, console) = run(&job, typed);
        assert_eq!(outcome.ending, BootEnding::PoweredOff(0), "{console}");
        assert!(console.contains(&format!("\n42\r\n{harts}\r\n")), "{console}");
    }
}

/// Boots the kernel at `TOLLGATE_LINUX` without a disk, interpreted and with translations: the whole machine is the same after
/// each of five parts of the boot, which end anywhere.
#[test]
#[cfg_attr(not(feature = "translate"), ignore = "built without the translator")]
fn linux_is_in_the_same_state_with_and_without_translations() {
    let Some(kernel) = env::var_os("TOLLGATE_LINUX") else {
        return tollgate_testkit::skip!("TOLLGATE_LINUX does not name a riscv64 kernel");
    };
    let [mut interpreted, mut translated] = [Tier::Interpret, Tier::Translate].map(|tier| {
        let append = "console=ttyS0".into();
        let job = BootJob { append, ram_bytes: 256 << 20, ..job(fs::read(&kernel).unwrap()) };
        let mut machine = boot::prepare(&job, None).unwrap();
        tier.prepare(&mut machine).unwrap();
        machine
    });
    for part in 1..=5 {
        for machine in [&mut interpreted, &mut translated] {
            machine.run(31_415_927, &mut ());
        }
        let count = interpreted.instret();
        assert_eq!(translated.instret(), count, "part {part}");
        assert!(
            interpreted.save().unwrap() == translated.save().unwrap(),
            "part {part}, after {count} instructions"
        );
    }
    // (It did not wait: traps are the rest.)
    assert!(interpreted.instret() > 150_000_000, "{}", interpreted.instret());
}
