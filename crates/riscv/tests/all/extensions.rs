//! Privileged extensions and cache blocks, each on both engines.

use crate::common::Asm;
use tollgate_riscv::{Cause, Config, Machine, MachineKind, Observer, Op, Trap};

pub(super) const BASE: u64 = 0x8000_0000;
pub(super) const HANDLER: u64 = BASE + 0x800;
pub(super) const LOWER: u64 = BASE + 0x1000;
const ROOT: u64 = BASE + 0x1_0000;
/// The page that the virtual address `PAGE` is mapped to.
pub(super) const FRAME: u64 = BASE + 0x2_0000;
pub(super) const PAGE: u64 = 0x1000;
pub(super) const LEAF: u64 = ROOT + 0x2000 + 8 * (PAGE >> 12);

pub(super) const MSTATUS: i64 = 0x300;
pub(super) const MIDELEG: i64 = 0x303;
pub(super) const MTVEC: i64 = 0x305;
pub(super) const MCOUNTEREN: i64 = 0x306;
pub(super) const MENVCFG: i64 = 0x30a;
pub(super) const MEPC: i64 = 0x341;
const MIP: i64 = 0x344;
const SIE: i64 = 0x104;
const STVEC: i64 = 0x105;
pub(super) const SENVCFG: i64 = 0x10a;
const STIMECMP: i64 = 0x14d;
pub(super) const SATP: i64 = 0x180;
const TIME: i64 = 0xc01;

pub(super) const V: u64 = 1;
pub(super) const R: u64 = 2;
pub(super) const W: u64 = 4;
pub(super) const X: u64 = 8;
pub(super) const A: u64 = 0x40;
pub(super) const D: u64 = 0x80;
const TM: u64 = 2;
const CBIE_FLUSH: u64 = 1 << 4;
const CBCFE: u64 = 1 << 6;
const CBZE: u64 = 1 << 7;
const ADUE: u64 = 1 << 61;
const STCE: u64 = 1 << 63;
pub(super) const SUPERVISOR: u64 = 0x800;
const TVM: u64 = 1 << 20;
const SIE_BIT: u64 = 2;

#[derive(Default, Debug, PartialEq, Clone)]
struct Traps(Vec<Trap>);

impl Observer for Traps {
    const TRAP: bool = true;
    fn trap(&mut self, t: &Trap) {
        self.0.push(*t);
    }
}

/// Writes a 64-bit constant to a register, through t0 and t1.
pub(super) fn set(a: &mut Asm, csr: i64, value: u64) {
    constant(a, 5, value);
    a.csrw(csr, 5);
}

pub(super) fn constant(a: &mut Asm, register: u8, value: u64) {
    a.li(register, (value >> 32) as i32).op(Op::Slli, register, register, 0, 32);
    a.li(6, value as i32).op(Op::Slli, 6, 6, 0, 32).op(Op::Srli, 6, 6, 0, 32);
    a.op(Op::Or, register, register, 6, 0);
}

/// M-mode sets things up, with a handler that loops, and goes on at [`LOWER`] in the mode of `mstatus`.
pub(super) fn start(setup: impl Fn(&mut Asm), mstatus: u64, lower: impl Fn(&mut Asm)) -> [Asm; 2] {
    let mut first = Asm::default();
    set(&mut first, MTVEC, HANDLER);
    set(&mut first, MEPC, LOWER);
    setup(&mut first);
    set(&mut first, MSTATUS, mstatus);
    first.op(Op::Mret, 0, 0, 0, 0);
    let mut second = Asm::default();
    lower(&mut second);
    second.op(Op::Jal, 0, 0, 0, 0);
    assert!(first.here() <= 0x800 && second.here() <= 0x1000);
    [first, second]
}

/// Runs on both engines, which must agree; the state of the fast one.
pub(super) fn both(isa: &str, kind: MachineKind, code: &[Asm; 2], leaf: u64) -> (Machine, Vec<Trap>) {
    let run = |reference: bool| {
        let config =
            Config { isa: isa.parse().unwrap(), machine: kind, ram_bytes: 1 << 20, ..Config::default() };
        let mut m = Machine::new(config).unwrap();
        let mut write = |address: u64, bytes: &[u8]| m.write_memory(address, bytes).unwrap();
        write(BASE, &code[0].0);
        write(HANDLER, &0x0000_006f_u32.to_le_bytes());
        write(LOWER, &code[1].0);
        // Sv39: the gigabyte at BASE maps to itself; PAGE maps to FRAME as `leaf` says.
        let table = |address: u64| (address >> 12) << 10 | V;
        write(ROOT + 16, &((BASE >> 12) << 10 | 0xcf).to_le_bytes());
        write(ROOT, &table(ROOT + 0x1000).to_le_bytes());
        write(ROOT + 0x1000, &table(ROOT + 0x2000).to_le_bytes());
        write(LEAF, &((FRAME >> 12) << 10 | leaf).to_le_bytes());
        // ret, for jumps to the page.
        write(FRAME, &0x0000_8067_u32.to_le_bytes());
        write(FRAME + 8, &[0xff; 0x100]);
        let mut traps = Traps::default();
        if reference {
            m.run_reference(5_000, &mut traps)
        } else {
            m.run(5_000, &mut traps)
        };
        (m, traps.0)
    };
    let (fast, slow) = (run(false), run(true));
    assert_eq!(fast.1, slow.1);
    let memory = |m: &Machine| m.read_memory(BASE, 1 << 20).unwrap().to_vec();
    assert!(
        (0..32).all(|r| fast.0.x(r) == slow.0.x(r)) && memory(&fast.0) == memory(&slow.0),
        "end states differ"
    );
    fast
}

pub(super) fn translate(a: &mut Asm) {
    set(a, SATP, 8 << 60 | ROOT >> 12);
}

fn entry(m: &Machine) -> u64 {
    let bytes = m.read_memory(LEAF, 8).unwrap();
    u64::from_le_bytes(bytes.try_into().unwrap()) & 0x3ff
}

#[test]
fn the_hardware_sets_accessed_and_dirty_bits_where_qemus_does() {
    let access = |op: Op| {
        move |a: &mut Asm| {
            a.li(11, PAGE as i32).op(op, 1, 11, 0, 0);
        }
    };
    let rwx = V | R | W | X;
    let cases = [
        (Op::Ld, Cause::LoadPageFault, A),
        (Op::Sd, Cause::StorePageFault, A | D),
        (Op::Jalr, Cause::InstructionPageFault, A),
    ];
    for (op, fault, bits) in cases {
        let code = start(translate, SUPERVISOR, access(op));
        for (isa, kind, by_hardware) in [
            ("rv64gc", MachineKind::Virt, true),
            ("rv64gc_svade", MachineKind::Virt, false),
            ("rv64gc", MachineKind::Spike, false),
            ("rv64gc_svadu", MachineKind::Spike, true),
            // With both, firmware has to ask for it.
            ("rv64gc_svade_svadu", MachineKind::Spike, false),
        ] {
            let (m, traps) = both(isa, kind, &code, rwx);
            let what = format!("{op:?} on {isa}, {kind:?}");
            assert_eq!(entry(&m), if by_hardware { rwx | bits } else { rwx }, "{what}");
            let causes: Vec<_> = traps.iter().map(|t| (t.cause, t.tval)).collect();
            assert_eq!(causes, if by_hardware { vec![] } else { vec![(fault, PAGE)] }, "{what}");
        }
    }
    // A load and then a store: D comes with the store, although the translation is known.
    let code = start(translate, SUPERVISOR, |a| {
        a.li(11, PAGE as i32).op(Op::Ld, 12, 11, 0, 8);
        a.li(13, LEAF as i32).op(Op::Slli, 13, 13, 0, 32).op(Op::Srli, 13, 13, 0, 32).op(
            Op::Ld,
            14,
            13,
            0,
            0,
        );
        a.op(Op::Sd, 0, 11, 0, 8).op(Op::Ld, 15, 13, 0, 0);
    });
    let (m, _) = both("rv64gc", MachineKind::Virt, &code, rwx);
    assert_eq!((m.x(14) & 0xff, m.x(15) & 0xff), (rwx | A, rwx | A | D));
    // A page that must not be written stays as it is.
    let code = start(translate, SUPERVISOR, access(Op::Sd));
    assert_eq!(entry(&both("rv64gc", MachineKind::Virt, &code, V | R).0), V | R);
}

#[test]
fn menvcfg_switches_the_setting_of_bits_on_and_off() {
    let load = |a: &mut Asm| {
        a.li(11, PAGE as i32).op(Op::Ld, 1, 11, 0, 0);
    };
    let with = |value: u64| {
        start(
            move |a| {
                translate(a);
                set(a, MENVCFG, value)
            },
            SUPERVISOR,
            load,
        )
    };
    assert_eq!(entry(&both("rv64gc", MachineKind::Virt, &with(0), V | R).0), V | R);
    assert_eq!(entry(&both("rv64gc_svade_svadu", MachineKind::Virt, &with(ADUE), V | R).0), V | R | A);
    // The bit does not exist without the extension.
    assert_eq!(entry(&both("rv64gc_svade", MachineKind::Virt, &with(ADUE), V | R).0), V | R);
}

#[test]
fn memory_types_are_accepted_and_the_reserved_one_faults() {
    let code = start(translate, SUPERVISOR, |a| {
        a.li(11, PAGE as i32).op(Op::Ld, 12, 11, 0, 8);
    });
    for (isa, kind, faults) in [
        ("rv64gc_svpbmt", 1, false),
        ("rv64gc_svpbmt", 2, false),
        ("rv64gc_svpbmt", 3, true),
        ("rv64gc", 1, true),
    ] {
        let (m, traps) = both(isa, MachineKind::Spike, &code, V | R | A | kind << 61);
        assert_eq!(m.x(12), if faults { 0 } else { u64::MAX }, "type {kind} on {isa}");
        assert_eq!(traps.len(), usize::from(faults), "type {kind} on {isa}");
    }
}

#[test]
fn stimecmp_interrupts_s_mode_at_its_tick_without_m_mode() {
    const STI: u64 = 1 << 5;
    let handler = LOWER + 0x100;
    let code = start(
        |a| {
            set(a, MENVCFG, STCE);
            set(a, MCOUNTEREN, TM);
            set(a, MIDELEG, STI);
            set(a, STVEC, handler);
            set(a, SIE, STI);
            // STIP cannot be written now.
            set(a, MIP, STI);
            a.csrr(20, MIP);
        },
        SUPERVISOR | SIE_BIT << 4 | SIE_BIT,
        |a| {
            a.csrr(10, TIME).op(Op::Addi, 10, 10, 0, 7).csrw(STIMECMP, 10).op(Op::Wfi, 0, 0, 0, 0);
            // A longer wait without wfi: a loop.
            a.csrr(12, TIME).op(Op::Addi, 12, 12, 0, 9).csrw(STIMECMP, 12);
            a.op(Op::Jal, 0, 0, 0, 0);
            a.0.resize(0x100, 0);
            a.csrr(11, TIME).csrr(13, 0x142).li(14, -1).csrw(STIMECMP, 14).csrr(15, 0x144).op(
                Op::Sret,
                0,
                0,
                0,
                0,
            );
        },
    );
    let (m, traps) = both("rv64gc_sstc", MachineKind::Virt, &code, 0);
    assert_eq!(traps.iter().map(|t| t.cause).collect::<Vec<_>>(), [Cause::SupervisorTimer; 2]);
    assert_eq!(m.x(20), 0, "STIP is read-only");
    // The second handler read the time at which it was due, and the far compare took the interrupt away.
    assert_eq!((m.x(11), m.x(13), m.x(15)), (m.x(12), 1 << 63 | 5, 0));
}

#[test]
fn stimecmp_needs_the_permission_of_m_mode() {
    let read = |a: &mut Asm| {
        a.csrr(10, STIMECMP);
    };
    for (isa, menvcfg, counters, permitted) in [
        ("rv64gc_sstc", STCE, TM, true),
        ("rv64gc_sstc", 0, TM, false),
        ("rv64gc_sstc", STCE, 0, false),
        ("rv64gc", STCE, TM, false),
    ] {
        let code = start(
            |a| {
                set(a, MENVCFG, menvcfg);
                set(a, MCOUNTEREN, counters)
            },
            SUPERVISOR,
            read,
        );
        let (_, traps) = both(isa, MachineKind::Spike, &code, 0);
        let causes: Vec<_> = traps.iter().map(|t| t.cause).collect();
        assert_eq!(
            causes,
            if permitted { vec![] } else { vec![Cause::IllegalInstruction] },
            "{isa} {menvcfg:#x} {counters}"
        );
    }
    // M-mode itself needs none.
    let code = start(
        |a| {
            a.csrr(10, STIMECMP);
        },
        SUPERVISOR,
        |_| {},
    );
    let (m, traps) = both("rv64gc_sstc", MachineKind::Spike, &code, 0);
    assert_eq!((m.x(10), traps.len()), (u64::MAX, 0));
}

#[test]
fn sinval_vma_makes_a_new_entry_visible_and_tvm_forbids_it() {
    let invalidate = |a: &mut Asm| {
        a.li(11, PAGE as i32).op(Op::Ld, 12, 11, 0, 8);
        constant(a, 13, LEAF);
        // The next frame, which holds zeros.
        a.op(Op::Ld, 14, 13, 0, 0).op(Op::Addi, 14, 14, 0, 0x400).op(Op::Sd, 0, 13, 14, 0);
        a.op(Op::SfenceWInval, 0, 0, 0, 0).op(Op::SinvalVma, 0, 11, 0, 0).op(Op::SfenceInvalIr, 0, 0, 0, 0);
        a.op(Op::Ld, 15, 11, 0, 8);
    };
    let code = start(translate, SUPERVISOR, invalidate);
    let (m, traps) = both("rv64gc_svinval", MachineKind::Spike, &code, V | R | A);
    assert_eq!((m.x(12), m.x(15), traps.len()), (u64::MAX, 0, 0));
    for (mstatus, op, traps_expected) in [
        (SUPERVISOR | TVM, Op::SinvalVma, 1),
        (SUPERVISOR | TVM, Op::SfenceWInval, 0),
        (0, Op::SfenceInvalIr, 1),
        (SUPERVISOR, Op::SinvalVma, 0),
    ] {
        let code = start(
            |_| {},
            mstatus,
            |a| {
                a.op(op, 0, 0, 0, 0);
            },
        );
        let (_, traps) = both("rv64gc_svinval", MachineKind::Spike, &code, 0);
        assert_eq!(traps.len(), traps_expected, "{op:?} under {mstatus:#x}");
    }
}

#[test]
fn cbo_zero_zeroes_the_block_of_its_address() {
    let zero = |a: &mut Asm| {
        a.li(11, PAGE as i32 + 0x65).op(Op::CboZero, 0, 11, 0, 0);
    };
    let code = start(
        |a| {
            translate(a);
            set(a, MENVCFG, CBZE)
        },
        SUPERVISOR,
        zero,
    );
    let (m, traps) = both("rv64gc_zicboz", MachineKind::Spike, &code, V | R | W | A | D);
    assert_eq!(traps, []);
    // 64 bytes around 0x65: from 0x40 to 0x7f.
    let bytes = m.read_memory(FRAME + 8, 0x100).unwrap();
    let zeros: Vec<u64> = (0..0x100).filter(|&i| bytes[i as usize] == 0).map(|i| i + 8).collect();
    assert_eq!(zeros, (0x40..0x80).collect::<Vec<_>>());
    // A page without W: a store's fault, at the address in the register (CMO specification, 2.5.2).
    let (_, traps) = both("rv64gc_zicboz", MachineKind::Spike, &code, V | R | A | D);
    assert_eq!((traps[0].cause, traps[0].tval), (Cause::StorePageFault, PAGE + 0x65));
}

/// CMO specification, 2.5.2: "the relevant *tval CSR is written with the faulting effective address (i.e. the value of rs1)".
#[test]
fn a_block_that_is_not_mapped_faults_at_the_address_in_the_register() {
    for op in [Op::CboInval, Op::CboClean, Op::CboFlush] {
        let manage = |a: &mut Asm| {
            a.li(11, PAGE as i32 + 0x65).op(op, 0, 11, 0, 0);
        };
        let permit = |a: &mut Asm| {
            translate(a);
            set(a, MENVCFG, CBCFE | CBIE_FLUSH)
        };
        let code = start(permit, SUPERVISOR, manage);
        let (_, traps) = both("rv64gc_zicbom", MachineKind::Spike, &code, 0);
        assert_eq!((traps[0].cause, traps[0].tval), (Cause::StorePageFault, PAGE + 0x65), "{op:?}");
    }
}

#[test]
fn cache_block_instructions_need_their_bits_of_the_environment() {
    for (op, bit) in
        [(Op::CboZero, CBZE), (Op::CboClean, CBCFE), (Op::CboFlush, CBCFE), (Op::CboInval, CBIE_FLUSH)]
    {
        // In S-mode menvcfg permits it, in U-mode senvcfg besides.
        for (mstatus, menvcfg, senvcfg, permitted) in [
            (SUPERVISOR, 0, bit, false),
            (SUPERVISOR, bit, 0, true),
            (0, bit, 0, false),
            (0, 0, bit, false),
            (0, bit, bit, true),
        ] {
            let setup = |a: &mut Asm| {
                set(a, MENVCFG, menvcfg);
                set(a, SENVCFG, senvcfg)
            };
            let code = start(setup, mstatus, |a| {
                constant(a, 11, FRAME);
                a.op(op, 0, 11, 0, 0);
            });
            let (_, traps) = both("rv64gc_zicbom_zicboz", MachineKind::Spike, &code, 0);
            let causes: Vec<_> = traps.iter().map(|t| t.cause).collect();
            let expected = if permitted { vec![] } else { vec![Cause::IllegalInstruction] };
            assert_eq!(causes, expected, "{op:?} under {mstatus:#x} {menvcfg:#x} {senvcfg:#x}");
        }
        // Where there is no memory: a store's access fault.
        let code = start(
            |a| set(a, MENVCFG, bit),
            SUPERVISOR,
            |a| {
                constant(a, 11, 0x4000_0000);
                a.op(op, 0, 11, 0, 0);
            },
        );
        let (_, traps) = both("rv64gc_zicbom_zicboz", MachineKind::Spike, &code, 0);
        assert_eq!(traps[0].cause, Cause::StoreAccessFault, "{op:?}");
    }
    // CBIE's reserved value 2 becomes 0, as on Spike (its csrs.cc, `envcfg_csr_t`).
    let code = start(
        |a| {
            set(a, MENVCFG, CBIE_FLUSH);
            set(a, MENVCFG, 2 << 4);
            a.csrr(20, MENVCFG);
        },
        SUPERVISOR,
        |_| {},
    );
    assert_eq!(both("rv64gc_zicbom", MachineKind::Spike, &code, 0).0.x(20), 0);
}

#[test]
fn zicclsm_in_the_isa_string_permits_misaligned_accesses() {
    let code = start(
        |_| {},
        SUPERVISOR,
        |a| {
            constant(a, 11, FRAME + 5);
            a.op(Op::Ld, 12, 11, 0, 0);
        },
    );
    let (m, traps) = both("rv64gc_zicclsm", MachineKind::Spike, &code, 0);
    // Three bytes of zeros, and five of the pattern behind them.
    assert_eq!((m.x(12), traps.len()), (0xffff_ffff_ff00_0000, 0));
    assert_eq!(both("rv64gc", MachineKind::Spike, &code, 0).1[0].cause, Cause::LoadMisaligned);
}

/// Each time that it is asked, five misses of the data cache (event 2) and a trap (event 7) have happened.
struct Happens;

impl Observer for Happens {
    fn happened(&mut self) -> tollgate_riscv::EventCounts {
        [0, 5, 0, 0, 0, 0, 1]
    }
}

#[test]
fn counters_of_events_count_what_an_observer_says() {
    let (t0, a0, event, counter, other) = (5, 10, 0x323, 0xb03, 0xb04);
    let mut a = Asm::default();
    let set = |a: &mut Asm, register: i64, value: i64| {
        a.op(Op::Addi, t0, 0, 0, value).op(Op::Csrrw, 0, t0, 0, register);
    };
    set(&mut a, event, 2);
    a.csrr(a0, counter).csrr(a0 + 1, counter);
    set(&mut a, counter, 100);
    a.csrr(a0 + 2, counter);
    // What it counted stays, and it counts something else from now on.
    set(&mut a, event, 7);
    a.csrr(a0 + 3, counter);
    set(&mut a, event, 8);
    a.csrr(a0 + 4, event).csrr(a0 + 5, other);
    let steps = a.0.len() as u64 / 4;
    for reference in [false, true] {
        let mut machine = Machine::new(Config::default()).unwrap();
        machine.write_memory(BASE, &a.0).unwrap();
        for n in 0..6 {
            machine.set_x(a0 + n, 77);
        }
        match reference {
            true => machine.run_reference(steps, &mut Happens),
            false => machine.run(steps, &mut Happens),
        };
        assert_eq!([0, 1, 2, 3, 4, 5].map(|n| machine.x(a0 + n)), [5, 10, 105, 111, 7, 0]);
    }
}
