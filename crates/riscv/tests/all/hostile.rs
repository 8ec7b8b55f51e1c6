//! Machines whose memory is random, or random with a bias to instructions: nothing may panic, hang or grow, and
//! the two engines must agree whatever happens.

use crate::common::{self, Rng};
use tollgate_riscv::{
    Config, Decoder, INSTRUCTIONS, Insn, Isa, Machine, MachineKind, MemoryFiles, Operands, Xlen,
    compressed_mnemonic, disassemble,
};

const BASE: u64 = 0x8000_0000;
const RAM: u64 = 64 << 10;

/// Memory full of instructions with random operands, among them every system instruction and register.
fn memory(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    let valid = rng.below(4) != 0;
    while (bytes.len() as u64) < RAM {
        if valid && rng.below(8) != 0 {
            let row = rng.pick(INSTRUCTIONS);
            let csr = rng.pick(&[
                0x300, 0x302, 0x303, 0x304, 0x305, 0x341, 0x344, 0x180, 0x3a0, 0x3b0, 0x5c0, 0x5c1, 0x7c1,
                0x105,
            ]);
            let imm = if rng.below(2) == 0 { rng.next() as i64 >> 53 } else { csr };
            let r = |rng: &mut Rng| rng.below(32) as u8;
            let o =
                Operands { rd: r(rng), rs1: r(rng), rs2: r(rng), rs3: r(rng), rm: rng.below(8) as u8, imm };
            bytes.extend(Insn::encode(row.op, o).to_le_bytes());
        } else {
            bytes.extend((rng.next() as u32).to_le_bytes());
        }
    }
    bytes.truncate(RAM as usize);
    bytes
}

fn machine(rng: &Rng, isa: Isa, kind: MachineKind, image: &[u8]) -> Machine {
    let mut rng = rng.clone();
    let config = Config {
        isa,
        machine: kind,
        ram_bytes: RAM,
        misaligned: rng.below(2) == 0,
        console_bytes: 100,
        ..Config::default()
    };
    let mut m = Machine::new(config).unwrap();
    if kind == MachineKind::Spike && rng.below(2) == 0 {
        // Host calls, with everything random but their entry.
        let elf = tollgate_riscv::Elf {
            entry: BASE,
            xlen: isa.xlen(),
            segments: vec![tollgate_riscv::Segment {
                address: BASE,
                data: image.to_vec(),
                memory_size: RAM,
                executable: true,
            }],
            symbols: vec![
                tollgate_riscv::Symbol { name: "fromhost".into(), address: BASE + 0x8040, size: 8 },
                tollgate_riscv::Symbol { name: "tohost".into(), address: BASE + 0x8000, size: 8 },
            ],
        };
        let mut files = MemoryFiles::new();
        files.insert("a", vec![1, 2, 3]);
        m.set_host(Box::new(files));
        m.load(&elf).unwrap();
    } else {
        m.write_memory(BASE, image).unwrap();
    }
    for r in 1..32 {
        // Pointers into RAM and to devices, so that accesses hit.
        let v = match rng.below(6) {
            0..3 => (BASE + rng.below(RAM)) & !7,
            3 => {
                rng.pick(&[0x200_0000, 0x200_4000, 0x200_bff8, 0x1000_0000, 0x10_0000, 0x1000, BASE + 0x8000])
            }
            _ => rng.value(),
        };
        m.set_x(r, v);
    }
    m
}

#[test]
fn random_machines_agree_and_end() {
    let deadline =
        common::fuzz_seconds().map(|s| std::time::Instant::now() + std::time::Duration::from_secs(s));
    let mut seed = if deadline.is_some() { u64::from(std::process::id()) << 32 } else { 1 };
    let isas = [
        "rv64gc",
        "rv32gc",
        "rv64imac_xtollbank",
        "rv32gc_xtollstack",
        "rv64gc_xtollstack",
        "rv32i",
        "rv64g",
    ];
    loop {
        let mut rng = Rng(seed);
        let isa: Isa = rng.pick(&isas).parse().unwrap();
        let kind = rng.pick(&[MachineKind::Spike, MachineKind::Virt]);
        let image = memory(&mut rng);
        let mut fast = machine(&rng, isa, kind, &image);
        let mut reference = machine(&rng, isa, kind, &image);
        for _ in 0..4 {
            let n = 1 + rng.below(400);
            if deadline.is_some() {
                // A program that overwrites its code without fence.i may run the old code in one engine and the
                // new in the other. None of the fixed seeds does; of others, only survival is asked.
                reference.run_reference(n, &mut ());
                fast.run(n, &mut ());
                continue;
            }
            assert_eq!(reference.run_reference(n, &mut ()), fast.run(n, &mut ()), "seed {seed}");
            let ended = (fast.pc(), fast.instret(), fast.privilege());
            assert_eq!((reference.pc(), reference.instret(), reference.privilege()), ended, "seed {seed}");
            let csrs = |m: &Machine| (0..4096).map(|c| m.csr(c)).collect::<Vec<_>>();
            assert_eq!(csrs(&reference), csrs(&fast), "seed {seed}");
            assert!(
                (0..32).all(|r| reference.x(r) == fast.x(r) && reference.f(r) == fast.f(r)),
                "seed {seed}"
            );
            assert!(reference.read_memory(BASE, RAM) == fast.read_memory(BASE, RAM), "seed {seed}");
            assert_eq!(reference.console(), fast.console());
            assert!(fast.console().len() <= 100);
        }
        seed += 1;
        match deadline {
            Some(end) if std::time::Instant::now() < end => {}
            None if seed <= 600 => {}
            _ => break,
        }
    }
}

#[test]
fn every_half_word_and_many_words_decode_and_disassemble() {
    let mut rng = Rng(99);
    for xlen in [Xlen::Rv32, Xlen::Rv64] {
        let isa = Isa::everything(xlen);
        let decoder = Decoder::new(isa);
        let words = (0..=0xffffu32).chain((0..200_000).map(|_| rng.next() as u32)).collect::<Vec<_>>();
        for w in words {
            let text = disassemble(w, isa);
            assert_eq!(decoder.decode(w).is_none(), text.starts_with('.'), "{w:#x}: {text}");
            if w & 3 != 3 {
                assert_eq!(compressed_mnemonic(w, isa).is_some(), decoder.decode(w).is_some(), "{w:#x}");
            }
        }
    }
}
