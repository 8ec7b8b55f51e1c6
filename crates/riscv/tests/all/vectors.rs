//! Random vector programs here, in Spike (`cargo xtask fuzz --spike PATH`) and in QEMU.
#![allow(clippy::print_stderr)]

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::common::vectors::{BASE, Output, Plan, Program, RAM, digest, program};
use crate::common::{self, Rng};
use tollgate_riscv::{Config, Elf, Isa, Machine, MachineKind, Stop, disassemble};

/// The record of a program that was run here.
fn run_here(plan: &Plan, program: &Program, blocks: bool) -> Vec<u8> {
    let (machine, misaligned) = match plan.output {
        Output::Host => (MachineKind::Spike, false),
        Output::Serial => (MachineKind::Virt, true),
    };
    let config = Config { isa: plan.isa, machine, misaligned, ram_bytes: RAM, ..Config::default() };
    let mut machine = Machine::new(config).unwrap();
    machine.load(&Elf::parse(&program.elf).unwrap()).unwrap();
    let budget = 20_000_000;
    let stop = if blocks { machine.run(budget, &mut ()) } else { machine.run_reference(budget, &mut ()) };
    assert_eq!(stop, Stop::Exit { code: 0 }, "at {:#x}", machine.pc());
    let (at, size) = program.record;
    machine.read_memory(at, size as u64).unwrap().to_vec()
}

/// The first difference between two records, with the instructions before it.
fn difference(plan: &Plan, program: &Program, ours: &[u8], theirs: &[u8]) -> Option<String> {
    let at = ours.iter().zip(theirs).position(|(a, b)| a != b);
    let at = at.or((ours.len() != theirs.len()).then_some(ours.len().min(theirs.len())))?;
    let (part, offset) = (at / program.state, at % program.state);
    let vlenb = plan.isa.vlen().unwrap() as usize / 8;
    let names = ["vl", "vtype", "vcsr", "fcsr", "vstart", "x16", "x17", "x18", "x19", "traps", "f8", "f9"];
    let place = match (program.words.get(part), offset) {
        (None, _) => "memory".to_owned(),
        (_, 0..96) => names[offset / 8].to_owned(),
        _ => format!("v{}, byte {}", (offset - 96) / vlenb, (offset - 96) % vlenb),
    };
    let text = program.words.get(part).into_iter().flatten().map(|word| disassemble(*word, plan.isa));
    let window = |bytes: &[u8]| format!("{:02x?}", &bytes[at & !7..bytes.len().min((at & !7) + 16)]);
    Some(format!(
        "{place}: {} here, {} there, after\n{}",
        window(ours),
        window(theirs),
        text.collect::<Vec<_>>().join("\n")
    ))
}

fn file(name: &str, elf: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("tollgate-vectors-{}-{name}", std::process::id()));
    std::fs::write(&path, elf).unwrap();
    path
}

fn in_spike(spike: &std::ffi::OsStr, plan: &Plan, program: &Program) -> Vec<u8> {
    let path = file("spike", &program.elf);
    let output = Command::new("timeout")
        .arg("60")
        .arg(spike)
        .args([format!("--isa={}_zicntr_zihpm", plan.isa), format!("-m{BASE:#x}:{RAM:#x}")])
        .arg(&path)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    std::fs::remove_file(path).unwrap();
    output.stdout
}

const QEMU: &str = "qemu-system-riscv64";

fn in_qemu(plan: &Plan, program: &Program) -> Vec<u8> {
    let path = file("qemu", &program.elf);
    let cpu = format!("rv64,v=true,vlen={},elen=64,vext_spec=v1.0,Zfh=true,h=off", plan.isa.vlen().unwrap());
    let output = Command::new("timeout")
        .args(["60", QEMU, "-M", "virt", "-bios", "none", "-cpu", &cpu, "-m", "4M", "-display", "none"])
        .args(["-monitor", "none", "-serial", "stdio", "-net", "none", "-no-reboot", "-kernel"])
        .arg(&path)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    std::fs::remove_file(path).unwrap();
    output.stdout
}

const ISAS: [&str; 5] = [
    "rv64gcv_zfh_zvfh_zvbb",
    "rv64gcv",
    "rv64gcv_zfhmin_zvfhmin_zvl256b",
    "rv64gcv_zfh_zvfh_zvl512b",
    "rv64gcv_zvbb_zvl1024b",
];

fn plan(isa: &str, output: Output, length: usize) -> Plan {
    // A state after each instruction when a difference is looked for.
    let every = std::env::var("TOLLGATE_EVERY").ok().and_then(|every| every.parse().ok()).unwrap_or(10);
    // QEMU 7.2 ends with a failed assertion at conversions with a rounding mode of their own.
    let (reserved, avoided): (_, &[&str]) = match output {
        Output::Host => (true, &[]),
        Output::Serial => (false, &[".rtz.", ".rod."]),
    };
    Plan { isa: isa.parse::<Isa>().unwrap(), output, length, every, reserved, avoided }
}

#[test]
fn random_programs_end_as_in_spike() {
    let spike = std::env::var_os("TOLLGATE_SPIKE");
    let mut digests = Vec::new();
    for seed in common::seeds(2) {
        for isa in ISAS {
            let plan = plan(isa, Output::Host, 300);
            let program = program(&plan, &mut Rng(seed));
            let ours = run_here(&plan, &program, true);
            assert!(ours == run_here(&plan, &program, false), "blocks differ, seed {seed:#x}, {isa}");
            if let Some(spike) = &spike {
                let theirs = in_spike(spike, &plan, &program);
                if let Some(difference) = difference(&plan, &program, &ours, &theirs) {
                    panic!("seed {seed:#x}, {isa}, Spike: {difference}");
                }
            }
            digests.push(digest(&ours));
        }
    }
    eprintln!("{digests:#x?}");
}

#[test]
fn random_programs_end_as_in_qemu() {
    let found = Command::new(QEMU).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        return tollgate_testkit::skip!("no {QEMU}: install qemu-system-misc");
    }
    for seed in common::seeds(2) {
        for isa in ["rv64gcv_zfh_zvfh", "rv64gcv_zfh_zvfh_zvl256b", "rv64gcv_zfh_zvfh_zvl1024b"] {
            let plan = plan(isa, Output::Serial, 300);
            let program = program(&plan, &mut Rng(seed));
            let (ours, theirs) = (run_here(&plan, &program, true), in_qemu(&plan, &program));
            if let Some(difference) = difference(&plan, &program, &ours, &theirs) {
                panic!("seed {seed:#x}, {isa}, QEMU: {difference}");
            }
        }
    }
}
