//! Random vector programs here, in Spike (`cargo xtask fuzz --spike PATH`) and in QEMU.
#![allow(clippy::print_stderr)]

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::common::vectors::{BASE, Output, Plan, Program, RAM, digest, program};
use crate::common::{self, Asm, Rng};
use tollgate_riscv::{
    Config, Elf, Extension, INSTRUCTIONS, Isa, Machine, MachineKind, Op, Stop, asm, disassemble,
};

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

fn plan(isa: &str, output: Output) -> Plan {
    // A state after each instruction when a difference is looked for, and longer programs where many instructions are compared.
    let number = |name, usual| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(usual);
    let [every, length] = [number("TOLLGATE_EVERY", 10), number("TOLLGATE_LENGTH", 300)];
    // QEMU 7.2 ends with a failed assertion at conversions with a rounding mode of their own.
    let (reserved, avoided): (_, &[&str]) = match output {
        Output::Host => (true, &[]),
        Output::Serial => (false, &[".rtz.", ".rod."]),
    };
    Plan { isa: isa.parse::<Isa>().unwrap(), output, length, every, reserved, avoided }
}

const VSETIVLI_16_E8: u32 = 0xcc08_7057;

/// The machine behind some code, with VS as it is given at first.
fn after(isa: &str, vs: i32, code: impl Fn(&mut Asm)) -> Machine {
    let mut a = Asm::default();
    // Traps, too, end in a loop.
    a.op(Op::Auipc, 5, 0, 0, 0).op(Op::Addi, 5, 5, 0, 0x80).csrw(0x305, 5);
    a.li(5, vs << 9).op(Op::Csrrs, 0, 5, 0, 0x300);
    code(&mut a);
    a.op(Op::Jal, 0, 0, 0, 0);
    a.0.resize(0x80, 0);
    a.op(Op::Jal, 0, 0, 0, 0);
    let config = Config { isa: isa.parse().unwrap(), machine: MachineKind::Virt, ..Config::default() };
    let mut machine = Machine::new(config).unwrap();
    machine.write_memory(BASE, &a.0).unwrap();
    machine.run(50, &mut ());
    machine
}

#[test]
fn vector_instructions_and_registers_need_vs() {
    const CAUSE: u16 = 0x342;
    let set = |a: &mut Asm| {
        a.word(VSETIVLI_16_E8);
    };
    let read = |a: &mut Asm| {
        a.csrr(6, 0xc22);
    };
    for code in [&set as &dyn Fn(&mut Asm), &read] {
        // Off, and without vectors: an illegal instruction.
        assert_eq!(after("rv64gcv", 0, code).csr(CAUSE), Some(2));
        assert_eq!(after("rv64gc", 1, code).csr(CAUSE), Some(2));
        assert_eq!(after("rv64gcv", 1, code).csr(CAUSE), Some(0));
    }
    // Initial becomes Dirty; SD says so.
    let status = |machine: Machine| machine.csr(0x300).unwrap() & (3 << 9 | 1 << 63);
    assert_eq!(status(after("rv64gcv", 1, set)), 3 << 9 | 1 << 63);
    assert_eq!(status(after("rv64gcv", 1, read)), 1 << 9);
    assert_eq!(status(after("rv64gc", 3, |_| {})), 0);
}

#[test]
fn a_snapshot_keeps_the_vector_state() {
    let isa = "rv64gcv_zvl256b";
    let mut machine = after(isa, 1, |a| {
        // vmv.v.i v3, 5
        a.word(VSETIVLI_16_E8).word(0x5e02_b1d7);
    });
    let mut restored = Machine::restore(&machine.save().unwrap(), None).unwrap();
    assert_eq!([0xc20, 0xc21, 0xc22].map(|csr| restored.csr(csr)), [Some(16), Some(0xc0), Some(32)]);
    let mut store = Asm::default();
    store.op(Op::Auipc, 10, 0, 0, 0x1000).op(Op::Vs1rV, 3, 10, 0, 1);
    for machine in [&mut machine, &mut restored] {
        machine.write_memory(BASE + 0x100, &store.0).unwrap();
        machine.set_pc(BASE + 0x100);
        machine.run(2, &mut ());
        let [set, rest] = [[5; 16], [0; 16]];
        assert_eq!(machine.read_memory(BASE + 0x1100, 32).unwrap(), [set, rest].concat());
    }
}

/// A program of assembly on both engines, which must agree; VS and FS are on, and traps end in a loop.
fn both(isa: &str, ram_bytes: u64, text: &str) -> Machine {
    let isa: Isa = isa.parse().unwrap();
    let text = format!(
        "la t0, end\ncsrw mtvec, t0\nli t0, 0x6600\ncsrs mstatus, t0\n{text}\n.align 2\nend: j end\n"
    );
    let options = asm::Options { isa, ..asm::Options::default() };
    let image =
        asm::assemble(&asm::Sources::new("a.s", &text), &options).unwrap_or_else(|all| panic!("{}", all[0]));
    let [blocks, reference] = [true, false].map(|blocks| {
        let config = Config { isa, ram_bytes, machine: MachineKind::Virt, ..Config::default() };
        let mut machine = Machine::new(config).unwrap();
        machine.write_memory(BASE, &image.program.segments[0].data).unwrap();
        if blocks {
            machine.run(5000, &mut ());
        } else {
            machine.run_reference(5000, &mut ());
        }
        machine
    });
    let csrs = [0x300, 0x342, 0x343, 8, 9, 10, 1, 0xc20, 0xc21];
    assert_eq!(csrs.map(|csr| blocks.csr(csr)), csrs.map(|csr| reference.csr(csr)));
    assert!((0..32).all(|r| blocks.x(r) == reference.x(r) && blocks.f(r) == reference.f(r)));
    let memory = |machine: &Machine| machine.read_memory(BASE, ram_bytes).unwrap().to_vec();
    assert!(memory(&blocks) == memory(&reference), "memories differ");
    blocks
}

fn words(machine: &Machine, address: u64, count: u64) -> Vec<u32> {
    let bytes = machine.read_memory(address, 4 * count).unwrap();
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

const VSTART: u16 = 8;
const MCAUSE: u16 = 0x342;
const MTVAL: u16 = 0x343;

/// Elements 4 MiB apart have the same place in the engine's TLB, so that each access of a loop misses; the last one is behind RAM.
#[test]
fn accesses_go_on_behind_each_page_that_was_missing() {
    const RAM: u64 = 32 << 20;
    let set = "li t0, 8\nvsetvli t0, t0, e32, m1, ta, ma\nvid.v v1\nli t1, 0x80100000\nli t2, 0x400000\nli t3, 0x80200000";
    // All in RAM: element i of 7 at 4 MiB * i, stored, loaded and stored side by side.
    let text = format!(
        "{set}\nli t0, 7\nvsetvli t0, t0, e32, m1, ta, ma\nvsse32.v v1, (t1), t2\nvlse32.v v2, (t1), t2
        vadd.vi v2, v2, 10\nvse32.v v2, (t3)"
    );
    let machine = both("rv64gcv_zvl256b", RAM, &text);
    assert_eq!(machine.csr(MCAUSE), Some(0));
    assert_eq!(words(&machine, 0x8020_0000, 7), [10, 11, 12, 13, 14, 15, 16]);
    // The seventh is behind RAM.
    let text = format!("{set}\nli t1, 0x80800000\nvsse32.v v1, (t1), t2");
    let machine = both("rv64gcv_zvl256b", RAM, &text);
    assert_eq!([MCAUSE, MTVAL, VSTART].map(|csr| machine.csr(csr)), [Some(7), Some(0x8200_0000), Some(6)]);
    assert_eq!(words(&machine, 0x81c0_0000, 1), [5]);
    // Units that cross pages, up to the end of RAM and over it: what was in RAM is stored.
    let text =
        format!("{set}\nvsetvli t0, zero, e32, m8, ta, ma\nvid.v v8\nli t1, 0x81ffff80\nvse32.v v8, (t1)");
    let machine = both("rv64gcv_zvl256b", RAM, &text);
    assert_eq!([MCAUSE, MTVAL, VSTART].map(|csr| machine.csr(csr)), [Some(7), Some(0x8200_0000), Some(32)]);
    assert_eq!(words(&machine, 0x81ff_ff80, 32), (0..32).collect::<Vec<_>>());
    // The first fault of a load that may be cut ends the vector without a trap.
    let text = format!("{set}\nli t1, 0x81ffffec\nvle32ff.v v3, (t1)\ncsrr a0, vl");
    let machine = both("rv64gcv_zvl256b", RAM, &text);
    assert_eq!((machine.csr(MCAUSE), machine.x(10), machine.csr(VSTART)), (Some(0), 5, Some(0)));
}

/// Registers that are written at the end of the last one, whole chunks of elements or not, and around masks and tails.
#[test]
fn elements_outside_of_an_instruction_keep_their_values() {
    for (sew, group) in [(8, 1), (16, 2), (32, 4), (64, 8), (8, 8), (64, 1)] {
        let first = 32 - group;
        let text = format!(
            "vsetvli t0, zero, e8, m8, ta, ma\nvmv.v.i v24, 9\nli t1, 0x80100000\nli t0, 0x55
            vsetivli x0, 1, e8, m1, ta, ma\nvmv.v.x v0, t0\nvsetivli t2, 7, e{sew}, m{group}, tu, mu
            vadd.vi v{first}, v{first}, 3, v0.t\nvs8r.v v24, (t1)"
        );
        let machine = both("rv64gcv", 4 << 20, &text);
        assert_eq!(machine.csr(MCAUSE), Some(0), "{text}");
        let found = machine.read_memory(0x8010_0000, 128).unwrap();
        let (at, size) = (16 * (8 - group), sew / 8);
        let length = machine.x(7).min(7) as usize;
        // The mask has elements 0, 2, 4 and 6; of each the lowest byte becomes 12.
        let expected = (0..128).map(|byte| {
            let element = usize::wrapping_sub(byte, at) / size;
            let is_lowest = byte >= at && (byte - at) % size == 0;
            if is_lowest && element < length && element % 2 == 0 { 12 } else { 9 }
        });
        assert_eq!(found, expected.collect::<Vec<u8>>(), "e{sew}, m{group}");
    }
}

/// Digests of the records of these programs, of each seed in all machines, when they were equal to those of Spike 55b4658d:
/// `TOLLGATE_SPIKE=spike cargo test -p tollgate-riscv --test all vectors::`.
const RECORDED: [[u64; 5]; 2] = [
    [0x5cd76804a8471385, 0x345df2de973a7acf, 0x82e1e42c7d829d45, 0x985706d4f0d74bca, 0x46ee40caca320cab],
    [0xd6ca0b2da56f5074, 0x33c7543f02928ebd, 0x9dc2080e16b73423, 0xb0e7db0e6a5752cc, 0xbe24465530c9b50b],
];

#[test]
fn random_programs_end_as_in_spike() {
    let spike = std::env::var_os("TOLLGATE_SPIKE");
    let mut digests = Vec::new();
    let mut instructions = 0;
    for seed in common::seeds(2) {
        for isa in ISAS {
            let plan = plan(isa, Output::Host);
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
            instructions += plan.length;
        }
    }
    if spike.is_some() {
        eprintln!("{instructions} random vector instructions end as in Spike");
    }
    if spike.is_none() && common::fuzz_seconds().is_none() {
        assert_eq!(
            digests,
            RECORDED.as_flattened(),
            "`TOLLGATE_SPIKE=PATH` says which is right: {digests:#x?}"
        );
    }
}

#[test]
fn random_programs_end_as_in_qemu() {
    let found = Command::new(QEMU).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        return tollgate_testkit::skip!("no {QEMU}: install qemu-system-misc");
    }
    for seed in common::seeds(2) {
        for isa in ["rv64gcv_zfh_zvfh", "rv64gcv_zfh_zvfh_zvl256b", "rv64gcv_zfh_zvfh_zvl1024b"] {
            let plan = plan(isa, Output::Serial);
            let program = program(&plan, &mut Rng(seed));
            let (ours, theirs) = (run_here(&plan, &program, true), in_qemu(&plan, &program));
            if let Some(difference) = difference(&plan, &program, &ours, &theirs) {
                panic!("seed {seed:#x}, {isa}, QEMU: {difference}");
            }
        }
    }
}

/// What our disassembler writes, GNU `as` reads as the same bits, and so does our assembler; and so do its names for other
/// instructions.
#[test]
fn text_is_that_of_gnu_as() {
    let runs = |tool: &&str| Command::new(format!("{tool}as")).arg("--version").output().is_ok();
    let Some(tool) = ["riscv64-unknown-elf-", "riscv64-linux-gnu-"].into_iter().find(runs) else {
        return tollgate_testkit::skip!("no riscv64-unknown-elf-as: install binutils-riscv64-unknown-elf");
    };
    let isa: Isa = "rv64gcv_zfh_zvfh".parse().unwrap();
    let rows = INSTRUCTIONS.iter().filter(|row| row.extension == Extension::V);
    let mut rng = Rng(1);
    let words: Vec<u32> = rows
        .flat_map(|row| {
            (0..12).map(|_| row.bits | rng.next() as u32 & !row.format.mask()).collect::<Vec<_>>()
        })
        .collect();
    let mut text: Vec<String> = words.iter().map(|word| disassemble(*word, isa)).collect();
    let pseudo = "vneg.v v1, v2; vneg.v v1, v2, v0.t; vnot.v v3, v4, v0.t; vncvt.x.x.w v1, v2; vwcvtu.x.x.v v2, v4;
        vfabs.v v1, v2, v0.t; vfneg.v v1, v2; vmsgt.vv v1, v2, v3; vmsgeu.vv v1, v2, v3, v0.t; vmfge.vv v1, v2, v3;
        vmfgt.vv v1, v2, v3, v0.t; vmmv.m v1, v2; vmnot.m v1, v2; vmclr.m v1; vmset.m v2; vl1r.v v3, (a0); vl8r.v v8, (a1);
        vsetvli a0, a1, e8, ta, ma; vsetvli a0, a1, e64, m2; vsetvli a0, zero, e16, mf4, tu, mu";
    text.extend(pseudo.split(';').map(|line| line.trim().to_owned()));
    let text = text.join("\n") + "\n";
    let [source, object, flat] = ["s", "o", "bin"].map(|end| file(end, text.as_bytes()));
    let run = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(Command::new(format!("{tool}as")).args(["-march=rv64gcv", "-o"]).args([&object, &source]));
    run(Command::new(format!("{tool}objcopy")).args(["-O", "binary"]).args([&object, &flat]));
    let theirs = std::fs::read(&flat).unwrap();
    [source, object, flat].iter().for_each(|path| std::fs::remove_file(path).unwrap());
    let expected: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert!(theirs.starts_with(&expected), "another encoding of what is disassembled");
    let options = asm::Options { isa, ..asm::Options::default() };
    let image = asm::assemble(&asm::Sources::new("vectors.s", &text), &options)
        .unwrap_or_else(|all| panic!("{}", all[0]));
    assert_eq!(image.program.segments[0].data, theirs);
}
