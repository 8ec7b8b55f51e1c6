//! Kernels: one made of a few instructions, and Debian's.

use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::{env, fs};

use tollgate_lab::Tier;
use tollgate_lab::boot::{self, BootEnding, BootOutcome, Input};
use tollgate_lab::plan::{BootRequest, PlanError};
use tollgate_riscv::{Insn, Op, Operands};

#[derive(clap::Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(flatten)]
    request: BootRequest,
}

fn request(kernel: &Path) -> BootRequest {
    let kernel = kernel.to_str().unwrap();
    let words = ["--memory", "8", "--max-instructions", "10000000", "--kernel", kernel];
    <Line as clap::Parser>::parse_from(words).request
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

fn run(request: &BootRequest, typed: &[u8]) -> Result<(BootOutcome, String), PlanError> {
    let mut machine = request.prepare()?;
    let input = Input { first: typed.to_vec(), bytes: mpsc::sync_channel(1).1, person: false };
    let mut console = Vec::new();
    let (until, most) = (request.until()?, request.max_instructions);
    let outcome = boot::run(&mut machine, most, until.as_ref(), &input, &mut console, &|| false).unwrap();
    let mut saving = request.saving();
    if outcome.ending == BootEnding::Reached {
        saving.save(&mut machine, |why| panic!("{why}"));
    }
    saving.verdict(&outcome)?;
    Ok((outcome, String::from_utf8_lossy(&console).into_owned()))
}

#[test]
fn how_a_kernel_ends_is_said_with_its_last_lines() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("Image");
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
        fs::write(&path, prints(b'K', then)).unwrap();
        let (outcome, console) = run(&request(&path), b"").unwrap();
        assert_eq!((&outcome.ending, console.as_str()), (&ending, "K"));
        assert!(outcome.verdict().contains(sentence), "{}", outcome.verdict());
        assert_eq!(outcome.is_success(), ending == BootEnding::PoweredOff(0));
    }
    // A jump to nowhere, with a handler at 0: nothing but traps.
    fs::write(&path, prints(b'K', &[op(Op::Jalr, 0, 0, 0, 0)])).unwrap();
    let long = BootRequest { max_instructions: 100_000_000, ..request(&path) };
    let (outcome, _) = run(&long, b"").unwrap();
    let sentence =
        "instruction access fault at 0x0 (tval 0x0), and the handler at 0x0 does nothing but trap again";
    assert!(outcome.verdict().contains(sentence), "{}", outcome.verdict());
}

/// Linux prints a time before its last words. A program may print them as well, and a kernel may go on.
#[test]
fn a_kernel_that_panics_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("Image");
    let says = |text: &str, then: &[Insn2]| {
        let print = |letter: u8| {
            [op(Op::Addi, 17, 0, 0, 1), op(Op::Addi, 10, 0, 0, i64::from(letter)), op(Op::Ecall, 0, 0, 0, 0)]
        };
        let mut code: Vec<Insn2> = text.bytes().flat_map(print).collect();
        code.extend(then);
        fs::write(&path, image(&code)).unwrap();
        let long = BootRequest { max_instructions: 30_000_000, ..request(&path) };
        run(&long, b"").unwrap().0
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
    let dir = tempfile::tempdir().unwrap();
    let (path, map) = (dir.path().join("Image"), dir.path().join("System.map"));
    fs::write(&path, prints(b'K', &[op(Op::Ecall, 0, 0, 0, 0)])).unwrap();
    fs::write(&map, "0000000080200040 T prints\n0000000080200050 T ends\n0000000080200050 T alias\n")
        .unwrap();
    let profiled = BootRequest { profile: true, symbols: Some(map), ..request(&path) };
    let on = |request: &BootRequest| {
        let mut machine = request.prepare().unwrap();
        let mut watch = request.watch(&machine).unwrap();
        let input = Input { first: Vec::new(), bytes: mpsc::sync_channel(1).1, person: false };
        let limits = (request.max_instructions, None);
        let outcome = watch
            .run(&mut machine, (limits.0, limits.1, &mut |_| true), &input, &mut Vec::new(), &|| false)
            .unwrap();
        assert_eq!((outcome.ending, outcome.instructions), (BootEnding::PoweredOff(0), 6));
        watch.result(request.asked()).unwrap()
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
    assert_eq!(found(&on(&profiled)), expected);
    // On a core each cycle belongs to a function, and a path.
    let timed = on(&BootRequest { core: Some("rocket".into()), ..profiled.clone() });
    assert_eq!(found(&timed), expected);
    let program = timed.found.program().unwrap();
    let cycles: u64 = program.functions.iter().flat_map(|it| it.causes.values()).sum();
    assert_eq!(cycles, program.paths.iter().map(|path| path.cycles).sum::<u64>());
    assert_eq!(timed.counter(tollgate_record::counter::CYCLES), Some(cycles as f64));

    let refused = |request: &BootRequest| {
        let machine = request.prepare().unwrap();
        request.watch(&machine).map(|_| ()).unwrap_err().to_string()
    };
    let error = refused(&BootRequest { harts: 2, ..profiled.clone() });
    assert!(error.ends_with("is one hart: give --harts 1"), "{error}");
    let error = refused(&BootRequest { symbols: None, ..profiled.clone() });
    assert!(error.contains("Image: no symbols"), "{error}");
    let error = refused(&BootRequest { core: Some("rockt".into()), ..profiled });
    assert!(error.contains("rocket"), "{error}");
}

#[test]
fn an_interrupted_boot_ends() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("Image");
    fs::write(&path, prints(b'K', &[op(Op::Jal, 0, 0, 0, 0)])).unwrap();
    let mut machine = request(&path).prepare().unwrap();
    let input = Input { first: Vec::new(), bytes: mpsc::sync_channel(1).1, person: false };
    let outcome = boot::run(&mut machine, u64::MAX, None, &input, &mut Vec::new(), &|| true).unwrap();
    assert_eq!(outcome.ending, BootEnding::Interrupted);
}

#[test]
fn what_is_wrong_names_its_option_or_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let kernel = file("Image", &image(&[]));
    let text = file("text", b"#!/bin/sh\n");
    let odd = file("odd", &[0; 1000]);
    let large = file("large", &vec![0; 16 << 20]);
    let cases = [
        (
            BootRequest { kernel: Some(text.clone()), ..request(&kernel) },
            "text: as the kernel: neither an ELF file nor",
        ),
        (BootRequest { kernel: Some(dir.path().into()), ..request(&kernel) }, "Is a directory"),
        (BootRequest { isa: "rv32gc".into(), ..request(&kernel) }, "an image for RV64, the machine is RV32"),
        (
            BootRequest { initrd: Some(large.clone()), ..request(&kernel) },
            "large: as the initial RAM disk: 16777216 bytes",
        ),
        (BootRequest { initrd: Some(large.clone()), ..request(&kernel) }, "--memory 16 gives it room"),
        (BootRequest { drive: Some(odd), ..request(&kernel) }, "odd: as the drive: 1000 bytes"),
        (BootRequest { bios: Some(large.clone()), ..request(&kernel) }, "large: as firmware: "),
        (BootRequest { harts: 0, ..request(&kernel) }, "--harts 0: give a number from 1 to 8"),
        (BootRequest { max_instructions: 0, ..request(&kernel) }, "--max-instructions 0: give at least 1"),
        (BootRequest { from: Some(text), ..request(&kernel) }, "text: not a snapshot of a machine"),
        (BootRequest { from: Some(dir.path().join("none")), ..request(&kernel) }, "none: No such file"),
    ];
    for (request, expected) in cases {
        let error = request.prepare().map(drop).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
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
    let dir = tempfile::tempdir().unwrap();
    let (path, snapshot) = (dir.path().join("Image"), dir.path().join("snapshot"));
    fs::write(&path, counts()).unwrap();
    let (whole, console) = run(&request(&path), b"").unwrap();
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
        let save_at = vec![point.to_owned(), snapshot.to_str().unwrap().to_owned()];
        let (saved, printed) = run(&BootRequest { save_at, ..request(&path) }, b"").unwrap();
        assert_eq!((&saved.ending, printed.as_str()), (&BootEnding::Reached, before), "{point}");
        assert!(instructions.is_none_or(|n| n == saved.instructions), "{point}: {}", saved.instructions);
        let from = BootRequest { from: Some(snapshot.clone()), kernel: None, ..request(&path) };
        let (rest, printed) = run(&from, b"").unwrap();
        assert_eq!((&rest.ending, rest.instructions), (&whole.ending, whole.instructions), "{point}");
        assert_eq!(format!("{before}{printed}"), console, "{point}");
    }
}

#[test]
fn a_point_that_is_not_reached_leaves_the_file_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let (path, snapshot) = (dir.path().join("Image"), dir.path().join("snapshot"));
    fs::write(&path, counts()).unwrap();
    fs::write(&snapshot, "before").unwrap();
    let save_at = |point: &str, file: &Path| BootRequest {
        save_at: vec![point.into(), file.to_str().unwrap().into()],
        ..request(&path)
    };
    let error = run(&save_at("M", &snapshot), b"").unwrap_err().to_string();
    assert!(
        error.starts_with("--save-at 'M': the kernel did not come there, so nothing is saved"),
        "{error}"
    );
    assert!(error.contains("powered off after"), "{error}");
    assert_eq!(fs::read(&snapshot).unwrap(), b"before");
    let error = run(&save_at("K", &dir.path().join("no/file")), b"").unwrap_err().to_string();
    assert!(error.contains("give a file in a directory"), "{error}");
    assert!(run(&save_at("", &snapshot), b"").is_err());
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
        let request = BootRequest {
            initrd: Some(initrd.clone()),
            append: "console=ttyS0 rdinit=/init".into(),
            harts,
            memory: Some(512),
            max_instructions: 20_000_000_000,
            ..request(Path::new(&kernel))
        };
        let typed = b"echo $((6 * 7)); busybox nproc; busybox poweroff -f\n";
        let (outcome, console) = run(&request, typed).unwrap();
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
        let request = BootRequest { tier, append, memory: Some(256), ..request(Path::new(&kernel)) };
        request.prepare().unwrap()
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
