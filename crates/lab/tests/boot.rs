//! Kernels: one made of a few instructions, and Debian's.

use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::{env, fs};

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
    let outcome = boot::run(&mut machine, request.max_instructions, &input, &mut console, &|| false).unwrap();
    Ok((outcome, String::from_utf8_lossy(&console).into_owned()))
}

#[test]
fn how_a_kernel_ends_is_said_with_its_last_lines() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("Image");
    let spin = op(Op::Jal, 0, 0, 0, 0);
    let wait = [op(Op::Wfi, 0, 0, 0, 0), op(Op::Jal, 0, 0, 0, -4)];
    let cases: [(&[Insn2], BootEnding, &str); 3] = [
        (&[op(Op::Ecall, 0, 0, 0, 0)], BootEnding::PoweredOff(0), "powered off after 6 instructions"),
        (&[spin], BootEnding::Budget, "--max-instructions gives it more; the kernel's last lines:\n  K"),
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
    assert_eq!(outcome.ending, BootEnding::Stuck(0));
}

#[test]
fn an_interrupted_boot_ends() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("Image");
    fs::write(&path, prints(b'K', &[op(Op::Jal, 0, 0, 0, 0)])).unwrap();
    let mut machine = request(&path).prepare().unwrap();
    let input = Input { first: Vec::new(), bytes: mpsc::sync_channel(1).1, person: false };
    let outcome = boot::run(&mut machine, u64::MAX, &input, &mut Vec::new(), &|| true).unwrap();
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
        (BootRequest { kernel: text, ..request(&kernel) }, "text: as the kernel: neither an ELF file nor"),
        (BootRequest { kernel: dir.path().into(), ..request(&kernel) }, "not a regular file"),
        (BootRequest { isa: "rv32gc".into(), ..request(&kernel) }, "an image for Rv64, the machine is Rv32"),
        (
            BootRequest { initrd: Some(large.clone()), ..request(&kernel) },
            "large: as the initial RAM disk: 16777216 bytes",
        ),
        (BootRequest { initrd: Some(large.clone()), ..request(&kernel) }, "--memory 16 gives it room"),
        (BootRequest { drive: Some(odd), ..request(&kernel) }, "odd: as the drive: 1000 bytes"),
        (BootRequest { bios: Some(large.clone()), ..request(&kernel) }, "large: as firmware: "),
        (BootRequest { harts: 0, ..request(&kernel) }, "--harts 0: give a number from 1 to 8"),
        (BootRequest { max_instructions: 0, ..request(&kernel) }, "--max-instructions 0: give at least 1"),
    ];
    for (request, expected) in cases {
        let error = request.prepare().map(drop).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
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
        let request = BootRequest {
            initrd: Some(initrd.clone()),
            append: "console=ttyS0 rdinit=/init".into(),
            harts,
            memory: 512,
            max_instructions: 20_000_000_000,
            ..request(Path::new(&kernel))
        };
        let typed = b"echo $((6 * 7)); busybox nproc; busybox poweroff -f\n";
        let (outcome, console) = run(&request, typed).unwrap();
        assert_eq!(outcome.ending, BootEnding::PoweredOff(0), "{console}");
        assert!(console.contains(&format!("\n42\r\n{harts}\r\n")), "{console}");
    }
}
