//! State enables, overflow of counters and masked pointers (Smstateen, Sscofpmf, Smmpm, Smnpm and Ssnpm), on both engines.

use super::extensions::*;
use crate::common::Asm;
use tollgate_riscv::{Cause, Config, EventCounts, Machine, MachineKind, Observer, Op, Trap};

const MSTATEEN0: i64 = 0x30c;
const SSTATEEN0: i64 = 0x10c;
const MSECCFG: i64 = 0x747;
const PMM_7: u64 = 2 << 32;
const PMM_16: u64 = 3 << 32;
const MXR: u64 = 1 << 19;

/// Smstateen, chapter 3: bit 62 is for `senvcfg`, bit 63 for `sstateen0`.
#[test]
fn state_enables_permit_registers_to_s_mode() {
    for (enables, csr, permitted) in [
        (0, SENVCFG, false),
        (1 << 62, SENVCFG, true),
        (1 << 63, SENVCFG, false),
        (0, SSTATEEN0, false),
        (1 << 63, SSTATEEN0, true),
        (1 << 62, SSTATEEN0, false),
    ] {
        let setup = |a: &mut Asm| {
            set(a, MSTATEEN0, enables);
            // M-mode may, in any case.
            a.csrr(9, csr);
        };
        let code = start(setup, SUPERVISOR, |a| {
            a.csrr(10, csr);
        });
        let (machine, traps) = both("rv64gc_smstateen", MachineKind::Spike, &code, 0);
        let causes: Vec<_> = traps.iter().map(|trap| trap.cause).collect();
        let expected = if permitted { vec![] } else { vec![Cause::IllegalInstruction] };
        assert_eq!(causes, expected, "{enables:#x}, {csr:#x}");
        assert_eq!(machine.csr(MSTATEEN0 as u16), Some(enables));
    }
    // Without the extension the registers do not exist, and `senvcfg` is S-mode's.
    let code = start(
        |_| {},
        SUPERVISOR,
        |a| {
            a.csrr(10, SENVCFG).csrr(10, SSTATEEN0);
        },
    );
    let (_, traps) = both("rv64gc", MachineKind::Spike, &code, 0);
    assert_eq!((traps[0].cause, traps[0].epc), (Cause::IllegalInstruction, LOWER + 4));
}

/// Events of one kind, a number of them each time that it is asked.
struct Misses(u64, Vec<Trap>);

impl Observer for Misses {
    const TRAP: bool = true;
    fn happened(&mut self) -> EventCounts {
        [0, self.0, 0, 0, 0, 0, 0]
    }
    fn trap(&mut self, trap: &Trap) {
        self.1.push(*trap);
    }
}

/// Sscofpmf, chapter 2: LCOFI is bit 13, OF bit 63, MINH bit 62 of `mhpmevent`.
#[test]
fn a_counter_that_overflows_interrupts_once() {
    let (event, counter) = (0x323, 0xb03);
    let mut a = Asm::default();
    set(&mut a, MTVEC, HANDLER);
    set(&mut a, event, 2);
    a.op(Op::Addi, 5, 0, 0, -30).csrw(counter, 5);
    set(&mut a, 0x304, 1 << 13);
    set(&mut a, MSTATUS, 8);
    let mut handler = Asm::default();
    handler.csrr(10, 0x344).csrr(11, event).csrr(12, 0xda0).csrr(13, counter);
    // It is pending until software clears it; OF stays, and no other overflow raises it again.
    handler
        .op(Op::Csrrc, 0, 14, 0, 0x344)
        .op(Op::Addi, 15, 15, 0, 1)
        .op(Op::Addi, 5, 0, 0, -10)
        .csrw(counter, 5);
    handler.op(Op::Mret, 0, 0, 0, 0);
    for (isa, interrupts) in [("rv64gc_sscofpmf", 1), ("rv64gc", 0)] {
        let config = Config { isa: isa.parse().unwrap(), ram_bytes: 1 << 20, ..Config::default() };
        let mut machine = Machine::new(config).unwrap();
        machine.write_memory(BASE, &a.0).unwrap();
        // addi x16, x16, 1; j back
        let mut tail = Asm::default();
        tail.op(Op::Addi, 16, 16, 0, 1).op(Op::Jal, 0, 0, 0, -4);
        machine.write_memory(BASE + a.here(), &tail.0).unwrap();
        machine.write_memory(HANDLER, &handler.0).unwrap();
        machine.set_x(14, 1 << 13);
        let mut misses = Misses(5, Vec::new());
        machine.run(30_000, &mut misses);
        assert_eq!(machine.x(15), interrupts, "{isa}");
        if interrupts == 1 {
            assert_eq!(misses.1[0].cause, Cause::CounterOverflow);
            assert_eq!(machine.x(10) & 1 << 13, 1 << 13);
            assert_eq!([machine.x(11), machine.x(12)], [1 << 63 | 2, 8]);
            // It counts on from 0 in steps of 5.
            assert!(machine.x(13) < 100, "{}", machine.x(13));
        }
    }
}

#[test]
fn a_counter_rests_in_the_modes_that_are_inhibited() {
    let (event, counter) = (0x323, 0xb03);
    for (flags, counted) in [(0, 15), (1 << 62, 0), (1 << 61 | 1 << 60, 15)] {
        let mut a = Asm::default();
        set(&mut a, event, 2 | flags);
        a.csrw(counter, 0).csrr(10, counter).csrr(11, counter).csrr(12, counter);
        let config = Config { isa: "rv64gc_sscofpmf".parse().unwrap(), ..Config::default() };
        let mut machine = Machine::new(config).unwrap();
        machine.write_memory(BASE, &a.0).unwrap();
        machine.run(a.here() / 4, &mut Misses(5, Vec::new()));
        assert_eq!(machine.x(12), counted, "{flags:#x}");
        assert_eq!(machine.csr(event as u16), Some(2 | flags));
    }
}

/// Zjpm, chapter 2: 7 or 16 upper bits are ignored; then a virtual address is extended by its sign, and a physical one by zeros.
#[test]
fn upper_bits_of_pointers_are_ignored() {
    let tagged = |tag: u64, address: u64| {
        move |a: &mut Asm| {
            constant(a, 11, tag | address);
            a.op(Op::Ld, 12, 11, 0, 8).op(Op::Sd, 0, 11, 11, 16).op(Op::AmoaddD, 13, 11, 0, 0);
            // A misaligned pointer, and one without a tag.
            a.op(Op::Lw, 14, 11, 0, 8).li(15, PAGE as i32).op(Op::Ld, 16, 15, 0, 8);
        }
    };
    let leaf = V | R | W | A | D;
    let [seven, sixteen] = [0xfe << 56, 0xffff << 48];
    for (isa, register, pmm, status, tag, fault) in [
        ("rv64gc_smnpm", MENVCFG, PMM_7, SUPERVISOR, seven, None),
        // Bit 56 is the sign.
        ("rv64gc_smnpm", MENVCFG, PMM_7, SUPERVISOR, 1 << 56, Some(0xff << 56)),
        ("rv64gc_smnpm", MENVCFG, PMM_16, SUPERVISOR, sixteen, None),
        ("rv64gc_smnpm", MENVCFG, PMM_16, SUPERVISOR | MXR, sixteen, Some(sixteen)),
        ("rv64gc_smnpm", MENVCFG, 1 << 32, SUPERVISOR, seven, Some(seven)),
        ("rv64gc_ssnpm", SENVCFG, PMM_7, SUPERVISOR, seven, Some(seven)),
        ("rv64gc", MENVCFG, PMM_7, SUPERVISOR, seven, Some(seven)),
    ] {
        let setup = |a: &mut Asm| {
            translate(a);
            set(a, register, pmm);
        };
        let code = start(setup, status, tagged(tag, PAGE));
        let (machine, traps) = both(isa, MachineKind::Spike, &code, leaf);
        let what = format!("{isa}, {pmm:#x}, {tag:#x}");
        if let Some(upper) = fault {
            assert_eq!((traps[0].cause, traps[0].tval), (Cause::LoadPageFault, upper + PAGE + 8), "{what}");
        } else {
            assert_eq!((traps.len(), machine.x(12), machine.x(14)), (0, u64::MAX, u64::MAX), "{what}");
            let stored = machine.read_memory(FRAME + 16, 8).unwrap().to_vec();
            assert_eq!(stored, (tag | PAGE).to_le_bytes(), "{what}");
        }
    }
    // In U-mode by `senvcfg`, in M-mode by `mseccfg`. Without translation.
    for (isa, register, status) in [("rv64gc_ssnpm", SENVCFG, 0), ("rv64gc_smmpm", MSECCFG, 3 << 11)] {
        for pmm in [0, PMM_7, PMM_16] {
            let setup = |a: &mut Asm| set(a, register, pmm);
            let load = |a: &mut Asm| {
                constant(a, 11, 0xfe << 56 | FRAME);
                a.op(Op::Ld, 12, 11, 0, 8);
            };
            let (machine, traps) = both(isa, MachineKind::Spike, &start(setup, status, load), 0);
            match pmm {
                0 => assert_eq!(traps[0].cause, Cause::LoadAccessFault, "{isa}"),
                _ => assert_eq!((traps.len(), machine.x(12)), (0, u64::MAX), "{isa}, {pmm:#x}"),
            }
        }
    }
}
