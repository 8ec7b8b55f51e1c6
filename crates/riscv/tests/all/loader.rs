//! Programs that must be refused, each with its error, and programs that must load.

use crate::common::{self, Asm, Rng};
use tollgate_riscv::{Config, ConfigError, Elf, Isa, LoadError, Machine, Op};

const BASE: u64 = 0x8000_0000;

fn good(rv64: bool) -> Vec<u8> {
    let mut code = Asm::default();
    code.op(Op::Jal, 0, 0, 0, 0);
    common::elf(rv64, BASE, &code.0)
}

fn set(bytes: &[u8], at: usize, value: &[u8]) -> Vec<u8> {
    let mut b = bytes.to_vec();
    b[at..at + value.len()].copy_from_slice(value);
    b
}

fn load(bytes: &[u8]) -> Result<(), LoadError> {
    let mut m = Machine::new(Config { ram_bytes: 1 << 20, ..Config::default() }).unwrap();
    m.load(&Elf::parse(bytes)?)
}

#[test]
fn bad_files_are_refused_with_a_reason() {
    let g = good(true);
    assert_eq!(load(&g), Ok(()));
    assert_eq!(load(b""), Err(LoadError::Empty));
    assert_eq!(load(b"hello, world, this is a text"), Err(LoadError::NotElf));
    for n in 1..g.len() - 4 {
        assert!(load(&g[..n]).is_err(), "cut to {n} bytes");
    }
    // The offsets are those of the ELF specification's header: machine 18, type 16, data encoding 5, entry 24.
    assert_eq!(load(&set(&g, 18, &[62, 0])), Err(LoadError::WrongMachine(62)));
    assert_eq!(load(&set(&g, 16, &[3, 0])), Err(LoadError::NotStatic));
    assert_eq!(load(&set(&g, 16, &[1, 0])), Err(LoadError::NotExecutable(1)));
    assert!(matches!(load(&set(&g, 5, &[2])), Err(LoadError::BigEndian | LoadError::Damaged(_))));
    assert_eq!(load(&set(&g, 24, &0x1000u64.to_le_bytes())), Err(LoadError::Entry(0x1000)));
    assert!(matches!(load(&good(false)), Err(LoadError::WrongWidth { .. })));
    // The program header at 64: physical address at +24, size in file at +32, in memory at +40.
    assert!(matches!(load(&set(&g, 64 + 24, &0x1000u64.to_le_bytes())), Err(LoadError::OutsideRam { .. })));
    assert!(matches!(
        load(&set(&g, 64 + 40, &(1u64 << 63).to_le_bytes())),
        Err(LoadError::OutsideRam { .. })
    ));
    assert!(matches!(load(&set(&g, 64 + 40, &u64::MAX.to_le_bytes())), Err(LoadError::Damaged(_))));
    assert!(matches!(load(&set(&g, 64 + 32, &(1u64 << 40).to_le_bytes())), Err(LoadError::Damaged(_))));
    assert!(matches!(load(&set(&g, 64 + 24, &u64::MAX.to_le_bytes())), Err(LoadError::Damaged(_))));
    // An interpreter segment instead of a loadable one.
    assert_eq!(load(&set(&g, 64, &[3])), Err(LoadError::NotStatic));
    assert_eq!(load(&set(&g, 64, &[4])), Err(LoadError::NoSegments));
}

#[test]
fn overlapping_segments_are_refused() {
    // Two copies of the program header: count at 56, and the second one takes the place of the code.
    let g = good(true);
    let mut two = set(&g, 56, &[2, 0]);
    two.truncate(120);
    two.extend_from_slice(&g[64..120]);
    two.extend_from_slice(&g[120..]);
    assert_eq!(Elf::parse(&two), Err(LoadError::Overlap(BASE, BASE)));
}

#[test]
fn damaged_files_never_panic() {
    let times = if common::fuzz_seconds().is_some() { 50 } else { 1 };
    let mut rng = Rng(if times > 1 { u64::from(std::process::id()) } else { 7 });
    // Ours has no sections; a linked one has symbols, too.
    let linked: &[u8] = include_bytes!("../../../../guests/riscv/bench/mix.elf");
    for (file, rounds) in [(good(true), 20_000), (good(false), 20_000), (linked.to_vec(), 3000)] {
        for _ in 0..rounds * times {
            let mut b = file.clone();
            for _ in 0..1 + rng.below(6) {
                // Most of the damage goes where the headers are.
                let reach = if rng.below(2) == 0 { b.len().min(256) } else { b.len() };
                let from_end = rng.below(2) == 0;
                let at = rng.below(reach as u64) as usize;
                let at = if from_end { b.len() - 1 - at } else { at };
                b[at] = rng.pick(&[0, 1, 0x7f, 0x80, 0xff, rng.clone().next() as u8]);
                rng.next();
            }
            if rng.below(8) == 0 {
                b.truncate(rng.below(b.len() as u64) as usize);
            }
            if let Ok(elf) = Elf::parse(&b) {
                assert!(elf.segments.iter().map(|s| s.data.len()).sum::<usize>() <= 2 * b.len());
            }
        }
    }
}

#[test]
fn symbols_of_a_linked_program() {
    let elf = Elf::parse(include_bytes!("../../../../guests/riscv/bench/mix.elf")).unwrap();
    assert_eq!((elf.entry, elf.symbol("_start")), (BASE, Some(BASE)));
    let main = elf.symbol("main").unwrap();
    assert!(main > BASE && elf.symbols.iter().any(|s| (s.name.as_str(), s.address) == ("main", main)));
    assert!(elf.symbols.is_sorted_by_key(|s| s.address));
    assert_eq!(elf.symbol("no such symbol"), None);
}

#[test]
fn impossible_machines_are_refused() {
    let with = |f: &dyn Fn(&mut Config)| {
        let mut c = Config::default();
        f(&mut c);
        Machine::new(c).err()
    };
    assert_eq!(with(&|c| c.ram_bytes = 0), Some(ConfigError::RamSize(0)));
    assert_eq!(with(&|c| c.ram_bytes = 5000), Some(ConfigError::RamSize(5000)));
    assert_eq!(with(&|c| c.ram_bytes = 1 << 63), Some(ConfigError::RamSize(1 << 63)));
    assert!(matches!(with(&|c| c.bootargs = "x".repeat(100_000)), Some(ConfigError::DeviceTree(..))));
    assert!(matches!(with(&|c| c.bootargs = "a\0b".into()), Some(ConfigError::DeviceTreeContent(_))));
    let rv32: Isa = "rv32imac".parse().unwrap();
    assert!(matches!(with(&|c| (c.isa, c.ram_bytes) = (rv32, 2 << 30)), Some(ConfigError::RamSize(_))));
}
