//! Traps, delegation, interrupts and time, each on both engines.

use crate::common::Asm;
use tollgate_riscv::{
    Cause, Config, Insn, Machine, MachineKind, Observer, Op, Operands, Privilege, Stop, Trap, TrapReturn,
};

const BASE: u64 = 0x8000_0000;
const MSTATUS: i64 = 0x300;
const MEDELEG: i64 = 0x302;
const MIE: i64 = 0x304;
const MTVEC: i64 = 0x305;
const MEPC: i64 = 0x341;
const MCAUSE: u16 = 0x342;
const MTVAL: u16 = 0x343;
const MIP: u16 = 0x344;
const STVEC: i64 = 0x105;
const SEPC: i64 = 0x141;

#[derive(Default, Debug, PartialEq, Clone)]
struct Traps(Vec<Trap>, Vec<TrapReturn>);

impl Observer for Traps {
    const TRAP: bool = true;
    fn trap(&mut self, t: &Trap) {
        self.0.push(*t);
    }
    fn trap_return(&mut self, t: &TrapReturn) {
        self.1.push(*t);
    }
}

/// A machine with code at `BASE`, handler code at `BASE + 0x100`, both vectors set and t6 = BASE + 0x100.
fn machine(code: &Asm, handler: &Asm) -> Machine {
    let mut m =
        Machine::new(Config { machine: MachineKind::Virt, ram_bytes: 1 << 20, ..Config::default() }).unwrap();
    m.write_memory(BASE, &code.0).unwrap();
    m.write_memory(BASE + 0x100, &handler.0).unwrap();
    m.set_x(31, BASE + 0x100);
    m
}

fn both(code: &Asm, handler: &Asm, budget: u64) -> (Machine, Traps) {
    let (mut fast, mut reference) = (machine(code, handler), machine(code, handler));
    let (mut a, mut b) = (Traps::default(), Traps::default());
    let stops = (fast.run(budget, &mut a), reference.run_reference(budget, &mut b));
    assert_eq!(stops.0, stops.1);
    assert_eq!(a, b);
    assert_eq!((fast.pc(), fast.instret()), (reference.pc(), reference.instret()));
    (fast, a)
}

#[test]
fn an_ecall_does_not_retire_and_saves_its_own_address() {
    let mut code = Asm::default();
    code.csrw(MTVEC, 31).op(Op::Ecall, 0, 0, 0, 0);
    let mut handler = Asm::default();
    handler.op(Op::Jal, 0, 0, 0, 0);
    let (m, traps) = both(&code, &handler, 2);
    let expected = Trap {
        cause: Cause::MachineEcall,
        tval: 0,
        epc: BASE + 4,
        from: Privilege::Machine,
        to: Privilege::Machine,
        handler: BASE + 0x100,
        by_table: false,
        instret: 1,
        a7: 0,
        // The encoding of `ecall` (unprivileged specification, 2.8).
        raised_by: Some(tollgate_riscv::Raised { pa: BASE + 4, word: 0x73 }),
    };
    assert_eq!(traps.0, [expected]);
    assert_eq!((m.instret(), m.pc(), m.csr(MEPC as u16)), (1, BASE + 0x100, Some(BASE + 4)));
    assert_eq!(m.csr(MCAUSE), Some(11));
}

#[test]
fn a_trap_stacks_mode_and_interrupt_enable_and_mret_unstacks_them() {
    let mut code = Asm::default();
    // MIE on, then an ebreak; the handler skips it and returns.
    code.csrw(MTVEC, 31).op(Op::Csrrsi, 0, 8, 0, MSTATUS).op(Op::Ebreak, 0, 0, 0, 0).op(Op::Jal, 0, 0, 0, 0);
    let mut handler = Asm::default();
    handler.csrr(5, MSTATUS).csrr(6, MEPC).op(Op::Addi, 6, 6, 0, 4).csrw(MEPC, 6).op(Op::Mret, 0, 0, 0, 0);
    let (m, traps) = both(&code, &handler, 9);
    assert_eq!(m.x(5) & 0x1888, 0x1880, "in the handler MIE is clear, MPIE set, MPP machine");
    assert_eq!(m.csr(MSTATUS as u16).unwrap() & 0x1888, 0x0088, "afterwards MIE is set again, MPP user");
    assert_eq!((m.csr(MCAUSE), m.csr(MTVAL)), (Some(3), Some(BASE + 8)));
    assert_eq!(traps.1.len(), 1);
    assert_eq!(
        (traps.1[0].from, traps.1[0].to, traps.1[0].pc),
        (Privilege::Machine, Privilege::Machine, BASE + 12)
    );
}

#[test]
fn a_delegated_ecall_goes_to_supervisor_mode_and_sret_comes_back() {
    let mut code = Asm::default();
    code.csrw(STVEC, 31).op(Op::Addi, 5, 0, 0, 0x100).csrw(MEDELEG, 5);
    code.op(Op::Auipc, 6, 0, 0, 0).op(Op::Addi, 6, 6, 0, 16).csrw(MEPC, 6).op(Op::Mret, 0, 0, 0, 0);
    // U-mode.
    code.op(Op::Ecall, 0, 0, 0, 0).op(Op::Addi, 7, 7, 0, 1).op(Op::Jal, 0, 0, 0, -8);
    let mut handler = Asm::default();
    handler.csrr(6, SEPC).op(Op::Addi, 6, 6, 0, 4).csrw(SEPC, 6).op(Op::Sret, 0, 0, 0, 0);
    // 7 to enter; a round is a trap, four instructions of the handler and two of the user.
    let (m, traps) = both(&code, &handler, 7 + 3 * 7);
    assert_eq!(m.x(7), 3);
    assert_eq!(m.privilege(), Privilege::User);
    assert_eq!(m.instret(), 7 + 3 * 6);
    assert!(
        traps
            .0
            .iter()
            .all(|t| (t.cause, t.from, t.to) == (Cause::UserEcall, Privilege::User, Privilege::Supervisor))
    );
}

#[test]
fn user_mode_may_not_touch_machine_registers() {
    let mut code = Asm::default();
    code.csrw(MTVEC, 31).op(Op::Auipc, 6, 0, 0, 0).op(Op::Addi, 6, 6, 0, 16).csrw(MEPC, 6).op(
        Op::Mret,
        0,
        0,
        0,
        0,
    );
    let read = Insn::encode(Op::Csrrs, Operands { rd: 5, imm: MSTATUS, ..Default::default() });
    code.word(read);
    let mut handler = Asm::default();
    handler.op(Op::Jal, 0, 0, 0, 0);
    let (m, traps) = both(&code, &handler, 6);
    assert_eq!((traps.0[0].cause, traps.0[0].tval), (Cause::IllegalInstruction, u64::from(read)));
    assert_eq!((m.privilege(), m.x(5)), (Privilege::Machine, 0));
}

/// Registers: t6 the handler, s0 the CLINT's mtimecmp.
fn with_timer(mtvec_mode: i64, code: &mut Asm, compare: i64) {
    code.op(Op::Addi, 31, 31, 0, mtvec_mode).csrw(MTVEC, 31);
    code.op(Op::Lui, 8, 0, 0, 0x200_4000).op(Op::Addi, 5, 0, 0, compare).op(Op::Sd, 0, 8, 5, 0);
    code.op(Op::Addi, 5, 0, 0, 0x80).csrw(MIE, 5).op(Op::Csrrsi, 0, 8, 0, MSTATUS);
}

#[test]
fn the_timer_interrupts_at_the_exact_instruction() {
    let mut code = Asm::default();
    with_timer(0, &mut code, 7);
    code.op(Op::Addi, 7, 7, 0, 1).op(Op::Jal, 0, 0, 0, -4);
    let mut handler = Asm::default();
    handler.op(Op::Jal, 0, 0, 0, 0);
    let (m, traps) = both(&code, &handler, 2000);
    assert_eq!(traps.0.len(), 1);
    let t = traps.0[0];
    // A tick is 100 instructions.
    assert_eq!((t.cause, t.instret, t.handler), (Cause::MachineTimer, 700, BASE + 0x100));
    assert_eq!(m.csr(MCAUSE), Some(1 << 63 | 7));
    assert_eq!(m.csr(MIP).unwrap() & 0x80, 0x80);
}

#[test]
fn vectored_interrupts_go_to_their_own_entry_and_exceptions_to_the_base() {
    let mut code = Asm::default();
    with_timer(1, &mut code, 1);
    code.op(Op::Jal, 0, 0, 0, 0);
    let mut handler = Asm::default();
    for _ in 0..8 {
        handler.op(Op::Ebreak, 0, 0, 0, 0);
    }
    let (_, traps) = both(&code, &handler, 200);
    assert_eq!((traps.0[0].cause, traps.0[0].handler), (Cause::MachineTimer, BASE + 0x100 + 4 * 7));
    assert_eq!((traps.0[1].cause, traps.0[1].handler), (Cause::Breakpoint, BASE + 0x100));
}

#[test]
fn waiting_makes_time_pass_without_instructions() {
    let mut code = Asm::default();
    with_timer(0, &mut code, 2000);
    code.op(Op::Wfi, 0, 0, 0, 0).op(Op::Jal, 0, 0, 0, 0);
    let mut handler = Asm::default();
    handler.csrr(9, 0xc01).op(Op::Jal, 0, 0, 0, 0);
    let (m, traps) = both(&code, &handler, 100);
    assert_eq!((traps.0[0].cause, traps.0[0].instret, traps.0[0].epc), (Cause::MachineTimer, 9, BASE + 36));
    assert_eq!(m.x(9), 2000);
}

#[test]
fn waiting_for_what_never_comes_stops_the_machine() {
    let mut code = Asm::default();
    code.op(Op::Wfi, 0, 0, 0, 0);
    let mut m = machine(&code, &Asm::default());
    assert_eq!(m.run(1_000_000, &mut ()), Stop::Idle);
    assert_eq!(m.instret(), 1);
}

#[test]
fn the_software_interrupt_of_the_clint() {
    let mut code = Asm::default();
    code.csrw(MTVEC, 31).op(Op::Addi, 5, 0, 0, 8).csrw(MIE, 5).op(Op::Csrrsi, 0, 8, 0, MSTATUS);
    code.op(Op::Lui, 8, 0, 0, 0x200_0000).op(Op::Addi, 5, 0, 0, 1).op(Op::Sw, 0, 8, 5, 0).op(
        Op::Addi,
        7,
        7,
        0,
        1,
    );
    let mut handler = Asm::default();
    handler.op(Op::Jal, 0, 0, 0, 0);
    let (m, traps) = both(&code, &handler, 20);
    assert_eq!((traps.0[0].cause, traps.0[0].epc), (Cause::MachineSoftware, BASE + 28));
    assert_eq!(m.x(7), 0, "the interrupt comes before the next instruction");
}

#[test]
fn a_misaligned_load_traps_or_works_as_configured() {
    let mut code = Asm::default();
    code.csrw(MTVEC, 31).op(Op::Ld, 5, 31, 0, 3);
    for misaligned in [false, true] {
        for reference in [false, true] {
            let config = Config { misaligned, ram_bytes: 1 << 20, ..Config::default() };
            let mut m = Machine::new(config).unwrap();
            m.write_memory(BASE, &code.0).unwrap();
            m.write_memory(BASE + 0x103, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
            m.set_x(31, BASE + 0x100);
            let _ = if reference { m.run_reference(2, &mut ()) } else { m.run(2, &mut ()) };
            let expected = if misaligned { 0x0807_0605_0403_0201 } else { 0 };
            assert_eq!(m.x(5), expected);
            assert_eq!(m.csr(MTVAL), Some(if misaligned { 0 } else { BASE + 0x103 }));
        }
    }
}

#[test]
fn without_c_a_jump_to_an_odd_half_word_traps_at_the_jump() {
    let mut code = Asm::default();
    code.csrw(MTVEC, 31).op(Op::Jalr, 1, 31, 0, 2);
    for isa in ["rv64g", "rv64gc"] {
        let mut m =
            Machine::new(Config { isa: isa.parse().unwrap(), ram_bytes: 1 << 20, ..Config::default() })
                .unwrap();
        m.write_memory(BASE, &code.0).unwrap();
        m.set_x(31, BASE + 0x100);
        let mut traps = Traps::default();
        m.run(2, &mut traps);
        if isa == "rv64g" {
            assert_eq!(
                (traps.0[0].cause, traps.0[0].epc, traps.0[0].tval),
                (Cause::InstructionMisaligned, BASE + 4, BASE + 0x102)
            );
            assert_eq!(m.x(1), 0, "a jump that traps writes nothing");
        } else {
            assert!(traps.0.is_empty());
            assert_eq!(m.pc(), BASE + 0x102);
        }
    }
}

/// A handler that sets the next interrupt one tick ahead, under a loop of odd length: the interrupts walk over
/// every instruction of the loop, and both engines take each at the same one.
#[test]
fn a_stream_of_timer_interrupts_is_the_same_on_both_engines() {
    let mut code = Asm::default();
    with_timer(0, &mut code, 1);
    for _ in 0..20 {
        code.op(Op::Addi, 7, 7, 0, 1);
    }
    // x7 is even here, always. 23 instructions: 94 of them between two interrupts move two places on.
    code.op(Op::Addi, 6, 6, 0, 1).op(Op::Andi, 9, 7, 0, 1).op(Op::Beq, 0, 9, 0, -88).op(
        Op::Jal,
        0,
        0,
        0,
        -92,
    );
    let mut handler = Asm::default();
    // s0 points to mtimecmp.
    handler.csrw(0x340, 5).op(Op::Ld, 5, 8, 0, 0).op(Op::Addi, 5, 5, 0, 1).op(Op::Sd, 0, 8, 5, 0);
    handler.csrr(5, 0x340).op(Op::Mret, 0, 0, 0, 0);
    let (_, traps) = both(&code, &handler, 50_000);
    assert!(traps.0.len() > 450);
    for pair in traps.0.windows(2) {
        assert_eq!(pair[1].instret - pair[0].instret, 100, "a tick is a hundred instructions");
    }
    let places: std::collections::HashSet<u64> = traps.0.iter().map(|t| t.epc).collect();
    assert!(places.len() >= 20, "the interrupts fall everywhere");
}

/// Privileged specification, 10.1.11: the least significant bits of the identifier are implemented first; RV32 has room
/// for 9.
#[test]
fn the_address_space_identifier_has_as_many_bits_as_the_machine() {
    const SATP: i64 = 0x180;
    for (isa, bits, expected) in [
        ("rv64gc", 0, 0x8000_0123_4567_89ab_u64),
        ("rv64gc", 1, 0x8000_1123_4567_89ab),
        ("rv64gc", 9, 0x801f_f123_4567_89ab),
        ("rv64gc", 16, 0x8fff_f123_4567_89ab),
        ("rv32imac", 0, 0x803f_ffff),
        ("rv32imac", 1, 0x807f_ffff),
        ("rv32imac", 9, 0xffff_ffff),
        ("rv32imac", 16, 0xffff_ffff),
    ] {
        let config = Config { isa: isa.parse().unwrap(), asid_bits: bits, ..Config::default() };
        let mut m = Machine::new(config).unwrap();
        let mut code = Asm::default();
        code.csrw(SATP, 5);
        m.write_memory(BASE, &code.0).unwrap();
        m.set_x(5, if isa == "rv64gc" { 0x8fff_f123_4567_89ab } else { 0xffff_ffff });
        m.step(&mut ());
        assert_eq!(m.csr(SATP as u16), Some(expected), "{isa} {bits}");
    }
    let error = Machine::new(Config { asid_bits: 17, ..Config::default() }).err().unwrap();
    assert_eq!(error.to_string(), "17 bits of satp's address space identifier: must be 0 to 16");
}
