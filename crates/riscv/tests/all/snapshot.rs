//! A machine that is saved and restored continues as one that was never stopped.

use crate::common::{self, Asm};
use tollgate_riscv::{Boot, Config, Machine, MachineKind, Op, SnapshotError, Stop};

const RAM: u64 = 0x8000_0000;
const QUEUE: u64 = RAM + 0x10_0000;
const DATA: u64 = RAM + 0x20_0000;
const SECTORS: usize = 64;
const T0: u8 = 5;
const T1: u8 = 6;
const T2: u8 = 7;
const S0: u8 = 8;
const S1: u8 = 9;
const A0: u8 = 10;
const A1: u8 = 11;
const A2: u8 = 12;
const A3: u8 = 13;
/// How many interrupts there were.
const COUNT: u8 = 20;
const HART: u8 = 21;

fn drive() -> Vec<u8> {
    (0..SECTORS * 512).map(|n| (n / 512) as u8).collect()
}

/// A guest in machine mode: a timer interrupts it all the time, and it uses integers, floating point, a megabyte of RAM, the
/// serial port and the drive, to which it writes what it computed. With two harts both do so at once.
fn guest() -> Vec<u8> {
    let mut a = Asm::default();
    a.op(Op::Auipc, T0, 0, 0, 0).op(Op::Addi, T0, T0, 0, 0x300).csrw(0x305, T0);
    // Floating point on; the timer, whose compare register is at 0x2004000 for each hart.
    a.li(T0, 1 << 13).csrw(0x300, T0).csrr(HART, 0xf14);
    a.op(Op::Slli, S1, HART, 0, 3).li(T0, 0x200_4000).op(Op::Add, S1, S1, T0, 0);
    a.op(Op::Sd, 0, S1, 0, 0).li(T0, 1 << 7).csrw(0x304, T0).op(Op::Csrrsi, 0, 8, 0, 0x300);
    // The queue of the drive: size, addresses, ready, driver ok.
    a.li(S0, 0x1000_1000);
    for (offset, value) in [(0x38, 8), (0x80, QUEUE), (0x90, QUEUE + 0x1000), (0xa0, QUEUE + 0x2000)] {
        a.li(T0, value as u32 as i32).op(Op::Sw, 0, S0, T0, offset);
    }
    a.li(T0, 1).op(Op::Sw, 0, S0, T0, 0x44).li(T0, 15).op(Op::Sw, 0, S0, T0, 0x70);
    a.li(A0, 12345).op(Op::Add, A0, A0, HART, 0).li(A1, 600);
    let top = a.here();
    // A generator: x ^= x << 13; x ^= x >> 7; x ^= x << 17.
    for (op, shift) in [(Op::Slli, 13), (Op::Srli, 7), (Op::Slli, 17)] {
        a.op(op, T0, A0, 0, shift).op(Op::Xor, A0, A0, T0, 0);
    }
    a.op(Op::FcvtDL, 1, A0, 0, 0).op(Op::FaddD, 2, 2, 1, 0);
    // A store somewhere in the megabyte from DATA on.
    a.op(Op::Slli, T0, A0, 0, 44).op(Op::Srli, T0, T0, 0, 47).op(Op::Slli, T0, T0, 0, 3);
    a.li(T1, DATA as u32 as i32).op(Op::Slli, T1, T1, 0, 32).op(Op::Srli, T1, T1, 0, 32);
    a.op(Op::Add, T0, T0, T1, 0).op(Op::Sd, 0, T0, A0, 0);
    // A letter, and the sector after the last one to the drive.
    a.op(Op::Andi, T0, A0, 0, 63).li(T2, 0x1000_0000).op(Op::Sb, 0, T2, T0, 0);
    a.li(T1, QUEUE as u32 as i32).op(Op::Slli, T1, T1, 0, 32).op(Op::Srli, T1, T1, 0, 32);
    a.op(Op::Andi, T0, A1, 0, 31).op(Op::Sd, 0, T1, T0, 0x408).op(Op::Sd, 0, T1, A0, 0x500);
    a.li(T2, 0x1000).op(Op::Add, T2, T1, T2, 0);
    a.op(Op::Lhu, A3, T2, 0, 2).op(Op::Addi, A3, A3, 0, 1).op(Op::Sh, 0, T2, A3, 2);
    a.op(Op::Sw, 0, S0, 0, 0x50);
    a.op(Op::Addi, A1, A1, 0, -1);
    let back = top as i64 - a.here() as i64;
    a.op(Op::Bne, 0, A1, 0, back);
    a.op(Op::Bne, 0, HART, 0, 16);
    a.li(T0, 0x10_0000).li(T1, 0x5555).op(Op::Sw, 0, T0, T1, 0);
    a.op(Op::Wfi, 0, 0, 0, 0).op(Op::Jal, 0, 0, 0, -4);
    assert!(a.here() <= 0x300, "{:#x}", a.here());
    a.0.resize(0x300, 0);
    // The handler counts, and asks for the tick after next.
    a.op(Op::Csrrw, A2, A2, 0, 0x340).op(Op::Addi, COUNT, COUNT, 0, 1);
    a.op(Op::Csrrs, A2, 0, 0, 0xc01).op(Op::Addi, A2, A2, 0, 2).op(Op::Sd, 0, S1, A2, 0);
    a.op(Op::Csrrw, A2, A2, 0, 0x340).op(Op::Mret, 0, 0, 0, 0);
    common::elf(true, RAM, &a.0)
}

fn start(harts: usize) -> Machine {
    let config = Config { machine: MachineKind::Virt, ram_bytes: 8 << 20, harts, ..Config::default() };
    let mut machine = Machine::new(config).unwrap();
    let kernel = guest();
    let drive: Option<Box<dyn tollgate_riscv::Storage>> = Some(Box::new(drive()));
    machine
        .boot(Boot {
            kernel: &kernel,
            firmware: None,
            initrd: None,
            drive,
            console: false,
            network: false,
            seed: 0,
        })
        .unwrap();
    // One chain: a header at 0x400 (write, sector), 512 bytes at 0x500, the status at 0x420.
    let mut put = |offset: u64, bytes: &[u8]| machine.write_memory(QUEUE + offset, bytes).unwrap();
    for (n, (at, len, flags)) in
        [(0x400, 16_u32, 1_u16), (0x500, 512, 1), (0x420, 1, 2)].into_iter().enumerate()
    {
        let n = n as u64;
        put(16 * n, &(QUEUE + at).to_le_bytes());
        put(16 * n + 8, &len.to_le_bytes());
        put(16 * n + 12, &flags.to_le_bytes());
        put(16 * n + 14, &(n as u16 + 1).to_le_bytes());
    }
    put(0x400, &1_u32.to_le_bytes());
    machine
}

fn restore(file: &[u8]) -> Machine {
    Machine::restore(file, Some(Box::new(drive()))).unwrap()
}

#[test]
fn a_restored_machine_goes_on_as_if_it_had_never_stopped() {
    let mut random = common::Rng(20261123);
    for harts in [1, 2] {
        let mut whole = start(harts);
        assert_eq!(whole.run(10_000_000, &mut ()), Stop::Exit { code: 0 });
        let (steps, letters) = (whole.instret(), whole.console().len());
        // The guest did what it is for.
        assert!(whole.x(COUNT) > 100 && letters > 500 * harts, "{} {letters}", whole.x(COUNT));
        let end = whole.save().unwrap();
        for _ in 0..25 {
            let at = random.next() % steps;
            let mut machine = start(harts);
            machine.run(at, &mut ());
            let file = machine.save().unwrap();
            let mut restored = restore(&file);
            assert_eq!((restored.instret(), restored.pc()), (machine.instret(), machine.pc()));
            assert!(restored.save().unwrap() == file, "{harts} harts, saved again at {at}");
            // The one that was saved, and the one that was restored, by both engines.
            machine.run(10_000_000, &mut ());
            assert!(machine.save().unwrap() == end, "{harts} harts, saved at {at}");
            assert_eq!(restored.run_reference(10_000_000, &mut ()), Stop::Exit { code: 0 });
            assert!(restored.save().unwrap() == end, "{harts} harts, restored at {at}");
        }
    }
}

#[test]
fn what_is_not_a_whole_snapshot_is_refused() {
    let mut machine = start(1);
    machine.run(5_000, &mut ());
    let file = machine.save().unwrap();
    let refused = |bytes: &[u8]| Machine::restore(bytes, Some(Box::new(drive()))).map(drop).unwrap_err();
    for len in (0..file.len()).step_by(97) {
        let error = refused(&file[..len]);
        let right = if len == 0 {
            matches!(error, SnapshotError::Foreign)
        } else {
            matches!(error, SnapshotError::Cut { .. })
        };
        assert!(right, "{len}: {error}");
    }
    for at in (60..file.len()).step_by(61) {
        let mut bytes = file.clone();
        bytes[at] ^= 0x10;
        assert!(matches!(refused(&bytes), SnapshotError::Hash), "{at}");
    }
    let mut newer = file.clone();
    newer[16] += 1;
    assert!(matches!(refused(&newer), SnapshotError::Version(_)));
    assert!(matches!(refused(&[&file[..], b"x"].concat()), SnapshotError::Hash));
    assert!(matches!(refused(b"\x7fELF"), SnapshotError::Foreign));

    assert!(matches!(Machine::restore(&file, None).map(drop), Err(SnapshotError::DriveMissing)));
    for other in [vec![0; SECTORS * 512], drive()[512..].to_vec()] {
        let found = Machine::restore(&file, Some(Box::new(other))).map(drop);
        assert!(matches!(found, Err(SnapshotError::OtherDrive)));
    }
    let mut bare = Machine::new(Config { machine: MachineKind::Virt, ..Config::default() }).unwrap();
    let bare = bare.save().unwrap();
    let found = Machine::restore(&bare, Some(Box::new(drive()))).map(drop);
    assert!(matches!(found, Err(SnapshotError::NoDrive)));
    let mut spike = Machine::new(Config::default()).unwrap();
    assert!(matches!(spike.save(), Err(SnapshotError::Machine)));
}
