//! Random programs here and in QEMU: both must send the same bytes to the serial port.
#![allow(clippy::print_stderr)]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{self, Asm, Rng, random};
use random::{BASE, Mode};
use tollgate_riscv::{Config, Elf, Isa, Machine, MachineKind, Op, Stop};

/// Switches off what QEMU's processor supports and ours does not.
const RV64: (&str, &str) = ("qemu-system-riscv64", "rv64,zbc=off,h=off");
const RV32: (&str, &str) = ("qemu-system-riscv32", "rv32,zbc=off,h=off");
/// The same with the extensions that both can have.
const MORE64: (&str, &str) = ("qemu-system-riscv64", "rv64,zbkb=on,zbkx=on,Zfh=on,h=off");
const MORE32: (&str, &str) = ("qemu-system-riscv32", "rv32,zbkb=on,zbkx=on,Zfh=on,h=off");

fn present(program: &str) -> bool {
    let status = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|s| s.success())
}

fn run_here(isa: Isa, elf: &[u8]) -> (Vec<u8>, u64) {
    let config = Config { isa, machine: MachineKind::Virt, misaligned: true, ..Config::default() };
    let mut machine = Machine::new(config).unwrap();
    machine.load(&Elf::parse(elf).unwrap()).unwrap();
    assert_eq!(machine.run(5_000_000, &mut ()), Stop::Exit { code: 0 });
    (machine.take_console(), machine.instret())
}

fn run_qemu((program, cpu): (&str, &str), elf: &std::path::Path, more: &[&str]) -> Vec<u8> {
    let output = Command::new("timeout")
        .args(["60", program, "-M", "virt", "-bios", "none", "-cpu", cpu, "-m", "128", "-display", "none"])
        .args(["-monitor", "none", "-serial", "stdio", "-net", "none", "-no-reboot", "-kernel"])
        .arg(elf)
        .args(more)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// What a place in the dump is, for the message.
fn place(rv64: bool, offset: usize) -> String {
    let word = if rv64 { 8 } else { 4 };
    match offset {
        0x2800..0x2820 => format!("trap digest word {}", (offset - 0x2800) / word),
        0x3000..0x3100 if (offset - 0x3000) / word < 32 => format!("x{}", (offset - 0x3000) / word),
        0x3100..0x3200 => format!("f{}", (offset - 0x3100) / 8),
        0x3200..0x3208 => "fcsr".into(),
        _ => format!("data at {offset:#x}"),
    }
}

fn compare(isa: Isa, qemu: (&str, &str), mode: Mode, seed: u64, length: usize) {
    let mut rng = Rng(seed);
    // QEMU before 8.0 looks for the lowest bit of all 64 (its commit "target/riscv: fix ctzw behavior").
    let image = random::program_without(&[Op::Ctzw], &mut rng, isa, mode, length);
    let elf = common::elf(isa.is_rv64(), BASE, &image);
    let (ours, _) = run_here(isa, &elf);
    let path = std::env::temp_dir().join(format!("tollgate-fuzz-{}-{seed:x}", std::process::id()));
    std::fs::write(&path, &elf).unwrap();
    let theirs = run_qemu(qemu, &path, &[]);
    if ours != theirs {
        let wrong: Vec<_> = (0..ours.len().min(theirs.len()))
            .filter(|&i| i % 4 == 0 && ours[i..].iter().take(4).ne(theirs[i..].iter().take(4)))
            .map(|i| {
                format!(
                    "{}: {:02x?} here, {:02x?} in QEMU",
                    place(isa.is_rv64(), i),
                    &ours[i..i + 4],
                    &theirs[i..i + 4]
                )
            })
            .take(12)
            .collect();
        panic!(
            "seed {seed:#x}, {isa}, {mode:?}, {} and {} bytes; the program is kept as {}\n{}",
            ours.len(),
            theirs.len(),
            path.display(),
            wrong.join("\n")
        );
    }
    std::fs::remove_file(&path).unwrap();
}

/// The benchmark's programs end with a checksum as their exit code; QEMU passes on its low byte.
#[test]
fn checksums_of_the_benchmark_are_qemus() {
    if !present(RV64.0) {
        eprintln!("skipped: {} is not there; install qemu-system-misc", RV64.0);
        return;
    }
    if cfg!(debug_assertions) {
        eprintln!("skipped: two billion instructions are for an optimized build; run with --release");
        return;
    }
    for name in ["mix", "float"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("../../guests/riscv/bench/{name}.elf"));
        let mut machine = Machine::new(Config::default()).unwrap();
        machine.load(&Elf::parse(&std::fs::read(&path).unwrap()).unwrap()).unwrap();
        let Stop::Exit { code } = machine.run(1 << 40, &mut ()) else { panic!("{name} does not end") };
        let theirs = Command::new("timeout")
            .args(["120", RV64.0, "-M", "spike", "-bios", "none", "-display", "none", "-monitor", "none"])
            .args(["-serial", "none", "-kernel"])
            .arg(&path)
            .status()
            .unwrap();
        assert_eq!(theirs.code(), Some(code & 0xff), "{name}");
    }
}

/// Counts instructions of a program of loops, calls, loads and stores from inside, and sends the count. QEMU
/// counts exactly with `-icount shift=0`, where an instruction takes a nanosecond.
#[test]
fn instruction_counts_are_qemus() {
    if !present(RV64.0) || !present(RV32.0) {
        eprintln!("skipped: {} and {} are not both there; install qemu-system-misc", RV64.0, RV32.0);
        return;
    }
    const MINSTRET: i64 = 0xb02;
    for (isa, qemu) in [("rv64gc", RV64), ("rv32gc", RV32)] {
        let isa: Isa = isa.parse().unwrap();
        let mut a = Asm::default();
        a.op(Op::Lui, 9, 0, 0, 0x1000_0000).op(Op::Auipc, 8, 0, 0, 0).op(Op::Auipc, 12, 0, 0, 0x1000);
        a.csrr(20, MINSTRET);
        // 37 times 100 times: a call, a load, a store, a branch that is taken every other time, two 16-bit no-ops.
        a.op(Op::Addi, 5, 0, 0, 37);
        let outer = a.here() as i64;
        a.op(Op::Addi, 6, 0, 0, 100);
        let inner = a.here() as i64;
        a.op(Op::Jal, 1, 0, 0, 8).op(Op::Jal, 0, 0, 0, 8).op(Op::Jalr, 0, 1, 0, 0);
        a.op(Op::Lw, 7, 12, 0, 0).op(Op::Addi, 7, 7, 0, 1).op(Op::Sw, 0, 12, 7, 0);
        a.op(Op::Andi, 7, 7, 0, 1).op(Op::Beq, 0, 7, 0, 8).half(1).half(1);
        a.op(Op::Addi, 6, 6, 0, -1);
        let back = inner - a.here() as i64;
        a.op(Op::Bne, 0, 6, 0, back).op(Op::Addi, 5, 5, 0, -1);
        let back = outer - a.here() as i64;
        a.op(Op::Bne, 0, 5, 0, back);
        a.csrr(21, MINSTRET).op(Op::Sub, 21, 21, 20, 0);
        // Four bytes to the serial port, then the end.
        let shift = if isa.is_rv64() { Op::Srli } else { Op::Srli32 };
        for _ in 0..4 {
            a.op(Op::Sb, 0, 9, 21, 0).op(shift, 21, 21, 0, 8);
        }
        a.op(Op::Lui, 5, 0, 0, 0x10_0000).li(6, 0x5555).op(Op::Sw, 0, 5, 6, 0).op(Op::Jal, 0, 0, 0, 0);
        a.0.resize(0x2000, 0);
        let elf = common::elf(isa.is_rv64(), BASE, &a.0);
        let (ours, _) = run_here(isa, &elf);
        let path = std::env::temp_dir().join(format!("tollgate-icount-{}", std::process::id()));
        std::fs::write(&path, &elf).unwrap();
        let theirs = run_qemu(qemu, &path, &["-icount", "shift=0"]);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(ours, theirs);
        // By hand: the first reading and `li`; 37 outer rounds of 3; 3,700 inner ones of 10, half with 2 more.
        let expected = 2 + 37 * 3 + 3700 * 10 + 1850 * 2u32;
        assert_eq!(ours, expected.to_le_bytes());
    }
}

#[test]
fn random_programs_end_as_in_qemu() {
    if !present(RV64.0) || !present(RV32.0) {
        eprintln!("skipped: {} and {} are not both there; install qemu-system-misc", RV64.0, RV32.0);
        return;
    }
    let rv64: Isa = "rv64gcb".parse().unwrap();
    let rv32: Isa = "rv32gcb".parse().unwrap();
    let [more64, more32] =
        ["rv64", "rv32"].map(|width| format!("{width}gcb_zbc_zbkb_zbkx_zfh").parse().unwrap());
    // The number of rounds is fixed unless a time is given: how many fit into a time is not a test result.
    let deadline = common::fuzz_seconds().map(|s| Instant::now() + Duration::from_secs(s));
    let mut seed = if deadline.is_some() { u64::from(std::process::id()) << 32 } else { 0x1000 };
    let mut programs = 0;
    loop {
        for (isa, qemu, mode) in [
            (rv64, RV64, Mode::Machine),
            (rv64, RV64, Mode::Sv39),
            (rv64, RV64, Mode::Sv48),
            (rv32, RV32, Mode::Machine),
            (rv32, RV32, Mode::Sv32),
            (more64, MORE64, Mode::Sv39),
            (more32, MORE32, Mode::Sv32),
        ] {
            compare(isa, qemu, mode, seed, 4000);
            programs += 1;
        }
        seed += 1;
        match deadline {
            Some(end) if Instant::now() < end => {}
            None if programs < 30 => {}
            _ => break,
        }
    }
    eprintln!("{programs} programs agree");
}
