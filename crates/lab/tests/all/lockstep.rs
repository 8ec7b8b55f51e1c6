//! Random programs of the privileged architecture, instruction by instruction: the reference interpreter against the engine of
//! blocks, translated code and, with `cargo xtask fuzz --spike PATH`, Spike.

mod program;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::machine::{self as common, Rng};
use program::{BASE, RAM, program};
use tollgate_lab::{Trace, Tracer};
use tollgate_riscv::{Config, Isa, Machine, MachineKind};

/// Of one program. Spike's turns are of 5,000 instructions, and a trap or `wfi` ends one; with a turn ends a reservation.
const STEPS: u64 = 4_900;
const TURN: usize = 5_000;

const ISAS: [&str; 22] = [
    "rv64gc",
    "rv32gc",
    "rv64gc_zicclsm_zba_zbb_zbs",
    "rv32gc_zicclsm",
    "rv64imac",
    "rv32imac_zba_zbb_zbs",
    "rv64imafd_svadu",
    "rv32imafc_svadu_svinval",
    "rv64gc_sstc_svpbmt",
    "rv32gc_sstc",
    "rv64gc_zicond_zba_zbb_zbc_zbkb_zbkx_zbs_zfh_zfa_zcb",
    "rv32gc_zicond_zba_zbb_zbc_zbkb_zbkx_zbs_zfh_zfa_zcb",
    "rv64gc_zimop_zcmop_zabha_zacas_svnapot_zfhmin",
    "rv32gc_zimop_zcmop_zabha_zacas_zfhmin_zcb",
    "rv64imac_zcmp_zcb_zmmul",
    "rv32imac_zcmp_zcb_zmmul",
    "rv64gc_zimop_zcmop_zicfiss_zicfilp",
    "rv32gc_zimop_zcmop_zicfiss_zicfilp",
    "rv64gc_smstateen_sscofpmf_ssnpm_smnpm_smmpm",
    "rv32gc_smstateen_sscofpmf",
    "rv64gc_zicbom_zicboz_zawrs",
    "rv32gc_zicbom_zicboz_zawrs",
];

fn machine(isa: Isa, kind: MachineKind, image: &[u8]) -> Machine {
    let coherent_code = kind == MachineKind::Virt;
    let config = Config { isa, machine: kind, ram_bytes: RAM, coherent_code, ..Config::default() };
    let mut machine = Machine::new(config).expect("a machine");
    machine.write_memory(BASE, image).expect("in RAM");
    machine
}

/// Everything that software could see.
fn state(machine: &Machine) -> impl PartialEq + use<> {
    (
        machine.pc(),
        machine.privilege(),
        (0..32).map(|r| (machine.x(r), machine.f(r))).collect::<Vec<_>>(),
        (0..4096).map(|csr| machine.csr(csr)).collect::<Vec<_>>(),
        machine.instret(),
        machine.read_memory(BASE, RAM).expect("RAM").to_vec(),
    )
}

/// The first lines that differ, with some before them.
fn differ(what: &str, ours: &[&str], theirs: &[&str]) -> Option<String> {
    let at = ours.iter().zip(theirs).position(|(a, b)| a != b)?;
    let before = ours[at.saturating_sub(4)..at].join("\n");
    Some(format!("{what}: line {at}\n{before}\nhere:  {}\nthere: {}", ours[at], theirs[at]))
}

/// One program on every engine; yields its log if Spike can be compared with it.
fn compare(seed: u64, name: &str, kind: MachineKind) -> (Vec<u8>, String) {
    let isa: Isa = name.parse().expect("an ISA");
    let what = format!("seed {seed:#x}, {name}, {kind:?}");
    let image = program(&mut Rng(seed), isa, kind == MachineKind::Virt, 20);
    let mut reference = machine(isa, kind, &image);
    let mut expected = Tracer::new(Trace::Commit, isa);
    let stop = reference.run_reference(STEPS, &mut expected);
    let expected = expected.take();

    let mut blocks = machine(isa, kind, &image);
    let mut seen = Tracer::new(Trace::Commit, isa);
    assert_eq!(blocks.run(STEPS, &mut seen), stop, "{what}");
    let seen = seen.take();
    let lines: Vec<_> = expected.lines().collect();
    if let Some(difference) = differ(&what, &lines, &seen.lines().collect::<Vec<_>>()) {
        panic!("{difference}");
    }
    assert!(state(&reference) == state(&blocks), "end states differ, {what}");

    let mut plain = machine(isa, kind, &image);
    assert_eq!(plain.run(STEPS, &mut ()), stop, "{what}");
    assert!(state(&reference) == state(&plain), "end states differ without an observer, {what}");

    #[cfg(feature = "translate")]
    {
        let mut translated = machine(isa, kind, &image);
        let translations = tollgate_translate::Translations::new().expect("a translator");
        translated.set_translator(0, Box::new(translations), 16);
        assert_eq!(translated.run(STEPS, &mut ()), stop, "{what}");
        assert!(state(&reference) == state(&translated), "end states differ when translated, {what}");
    }
    (image, expected)
}

/// A program with the one section that Spike's loader needs: the names of sections, for which any string does.
fn with_section(mut elf: Vec<u8>, rv64: bool) -> Vec<u8> {
    let (table, word, entry, size) = if rv64 { (0x28, 8, 64_u16, 32) } else { (0x20, 4, 40, 20) };
    let end = elf.len() as u64;
    elf[table..table + word].copy_from_slice(&end.to_le_bytes()[..word]);
    let counts = table + 2 * word + if rv64 { 2 } else { 6 };
    elf[counts..counts + 2].copy_from_slice(&entry.to_le_bytes());
    elf[counts + 2] = 1;
    let mut header = vec![0; usize::from(entry)];
    header[4] = 3;
    header[size] = 64;
    elf.extend(header);
    elf
}

/// What Spike writes about the same program.
fn spike(path: &Path, name: &str, turns: usize, elf: &Path, log: &Path) -> String {
    // Its name of what is always here.
    let isa = format!("{name}_zicntr_zihpm");
    let status = Command::new("timeout")
        .args(["60".as_ref(), path.as_os_str()])
        .args([
            format!("--isa={isa}"),
            format!("-m{BASE:#x}:{RAM:#x}"),
            format!("--instructions={}", turns * TURN),
        ])
        .args(["--log-commits", "--log"])
        .arg(log)
        .arg(elf)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("timeout and Spike run");
    assert!(status.code().is_some_and(|code| code != 124), "Spike: {status}");
    std::fs::read_to_string(log).expect("Spike wrote its log")
}

fn compare_with_spike(path: &Path, seed: u64, name: &str, image: &[u8], ours: &str) -> Option<String> {
    let place = |kind: &str| -> PathBuf {
        std::env::temp_dir().join(format!("tollgate-lockstep-{seed:x}-{name}.{kind}"))
    };
    let (elf, log) = (place("elf"), place("log"));
    let rv64 = name.starts_with("rv64");
    std::fs::write(&elf, with_section(common::elf(rv64, BASE, image), rv64)).expect("a file");
    let turns = ours.lines().filter(|line| line.contains(": trap ") || line.contains("(0x10500073)")).count();
    let theirs = spike(path, name, turns + 8, &elf, &log);
    std::fs::remove_file(&log).expect("the log");
    let ours: Vec<_> = ours.lines().filter(|line| !line.contains(": trap ")).collect();
    // Its boot code comes first.
    let theirs: Vec<_> = theirs
        .lines()
        .skip_while(|line| !line.contains("3 0x80000000 ") && !line.contains("3 0x0000000080000000 "))
        .collect();
    assert!(theirs.len() > 40, "Spike logged {} lines", theirs.len());
    let what = format!("seed {seed:#x}, {name}, kept as {}", elf.display());
    let difference = differ(&what, &ours, &theirs);
    if difference.is_none() {
        std::fs::remove_file(&elf).expect("the program");
    }
    difference
}

/// Digests of the commit logs of each ISA's programs, when they were equal to those of Spike 55b4658d:
/// `TOLLGATE_SPIKE=spike cargo test -p tollgate-lab --test all lockstep::`.
const RECORDED: [u64; ISAS.len()] = [
    0x504e_5f87_30af_e557,
    0xfb74_0bfe_bb9a_3dfb,
    0x9caa_c0d1_2348_518d,
    0x376c_3c2c_5c97_6f8e,
    0x63d3_d989_7478_c1dc,
    0xd3d4_dacb_e794_87bd,
    0x3321_59b5_42e1_3609,
    0xac63_41a7_3d0c_8de7,
    0x4883_9d7f_3165_12b3,
    0xc05b_5e99_61ff_796f,
    0x22a4_ad08_483d_d532,
    0x982b_ee8a_6b84_7fd1,
    0xc878_e5f8_6fbb_8a4c,
    0x0438_9c56_f867_ff8c,
    0x6f16_5664_71a3_0b11,
    0x8d44_364e_f490_6c15,
    0x2810_1939_b2f0_9d00,
    0x1283_f242_cb09_5b01,
    0x4083_1274_6d94_bd25,
    0x01c3_4c55_dd9d_1c21,
    0x3c7d_50f8_e01a_b11f,
    0x839b_f45c_b14d_483a,
];

/// FNV-1a.
fn digest(text: &str, before: u64) -> u64 {
    text.bytes().fold(before, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[test]
fn engines_and_spike_agree_on_random_privileged_programs() {
    let path = std::env::var_os("TOLLGATE_SPIKE").map(PathBuf::from);
    let mut differences = Vec::new();
    let mut programs = 0;
    let mut digests = [0xcbf2_9ce4_8422_2325; ISAS.len()];
    for seed in common::seeds(12) {
        for (name, hash) in ISAS.into_iter().zip(&mut digests) {
            compare(seed, name, MachineKind::Virt);
            let (image, log) = compare(seed, name, MachineKind::Spike);
            programs += 1;
            *hash = digest(&log, *hash);
            if let Some(path) = &path {
                differences.extend(compare_with_spike(path, seed, name, &image, &log));
                assert!(differences.len() < 20, "{programs} programs\n{}", differences.join("\n\n"));
            }
        }
    }
    assert!(differences.is_empty(), "{programs} programs\n{}", differences.join("\n\n"));
    if common::fuzz_seconds().is_none() {
        let differ = |(name, (hash, recorded))| (hash != recorded).then_some(name);
        let differ: Vec<_> =
            ISAS.into_iter().zip(digests.into_iter().zip(RECORDED)).filter_map(differ).collect();
        assert!(
            differ.is_empty(),
            "other logs than Spike's: {differ:?}; `TOLLGATE_SPIKE=PATH` says which is right: {digests:#x?}"
        );
    }
}
