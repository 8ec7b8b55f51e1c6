//! Our own extensions: the banked register file and hardware stacking.

use crate::common::Asm;
use tollgate_riscv::{Access, AccessKind, Config, Machine, Observer, Op};

const BASE: u64 = 0x8000_0000;
const TOLLBANK: i64 = 0x5c0;
const STOLLSP: i64 = 0x5c1;
const MTOLLSP: i64 = 0x7c1;
const MEPC: i64 = 0x341;
const MTVEC: i64 = 0x305;

#[derive(Default)]
struct Words(Vec<Access>);

impl Observer for Words {
    const MEMORY: bool = true;
    fn access(&mut self, a: &Access) {
        self.0.push(*a);
    }
}

fn machine(isa: &str, code: &Asm, handler: &Asm) -> Machine {
    let mut m =
        Machine::new(Config { isa: isa.parse().unwrap(), ram_bytes: 1 << 20, ..Config::default() }).unwrap();
    m.write_memory(BASE, &code.0).unwrap();
    m.write_memory(BASE + 0x100, &handler.0).unwrap();
    m.set_x(31, BASE + 0x100);
    m
}

/// Enters U-mode at the next instruction.
fn to_user(a: &mut Asm) {
    a.op(Op::Auipc, 30, 0, 0, 0).op(Op::Addi, 30, 30, 0, 16).csrw(MEPC, 30).op(Op::Mret, 0, 0, 0, 0);
}

/// The user calls with a0 = 7; the handler clobbers a0 and t0 freely, reads the user's a0 from the other bank and
/// answers a0 + 1; the user's registers are otherwise as they were. No load, no store.
#[test]
fn a_trap_switches_banks_and_the_return_switches_back() {
    let mut code = Asm::default();
    code.csrw(MTVEC, 31).op(Op::Addi, 5, 0, 0, 0x100).csrw(TOLLBANK, 5);
    // The kernel's own stack pointer waits in the other bank.
    code.op(Op::Addi, 5, 0, 0, 0x55).op(Op::TollMvto, 2, 5, 0, 0);
    code.op(Op::Addi, 5, 0, 0, 5).op(Op::Addi, 10, 0, 0, 7).op(Op::Addi, 2, 0, 0, 0x22);
    to_user(&mut code);
    code.op(Op::Ecall, 0, 0, 0, 0).op(Op::Addi, 11, 10, 0, 0).op(Op::Jal, 0, 0, 0, 0);
    let mut handler = Asm::default();
    handler.op(Op::TollMvfrom, 10, 10, 0, 0).op(Op::Addi, 10, 10, 0, 1).op(Op::TollMvto, 10, 10, 0, 0);
    handler.op(Op::Addi, 9, 2, 0, 0).op(Op::TollMvto, 9, 9, 0, 0);
    handler.csrr(5, MEPC).op(Op::Addi, 5, 5, 0, 4).csrw(MEPC, 5).op(Op::Mret, 0, 0, 0, 0);
    for isa in ["rv64gc_xtollbank", "rv32imac_xtollbank"] {
        for reference in [true, false] {
            let mut m = machine(isa, &code, &handler);
            let mut words = Words::default();
            let _ = if reference { m.run_reference(40, &mut words) } else { m.run(40, &mut words) };
            assert_eq!((m.x(10), m.x(11)), (8, 8), "the answer");
            assert_eq!((m.x(5), m.x(2)), (5, 0x22), "what the handler clobbered is the user's again");
            assert_eq!(m.x(9), 0x55, "the handler had its own stack pointer");
            assert_eq!(m.csr(TOLLBANK as u16), Some(0x100));
            assert!(words.0.is_empty());
        }
    }
}

#[test]
fn the_instructions_are_illegal_in_user_mode_and_without_the_extension() {
    let mut code = Asm::default();
    code.csrw(MTVEC, 31);
    to_user(&mut code);
    code.op(Op::TollMvfrom, 10, 10, 0, 0);
    let mut handler = Asm::default();
    handler.op(Op::Jal, 0, 0, 0, 0);
    for isa in ["rv64gc", "rv64gc_xtollbank"] {
        let mut m = machine(isa, &code, &handler);
        m.run(20, &mut ());
        assert_eq!((m.csr(0x342), m.instret()), (Some(2), 5 + 14));
    }
}

#[test]
fn a_trap_stacks_the_caller_saved_registers_and_the_return_loads_them() {
    for (isa, word, frame) in [("rv64gc_xtollstack", 8u8, 144u64), ("rv32imac_xtollstack", 4, 80)] {
        let mut code = Asm::default();
        // mtollsp = t5 (on), the user's registers: a0 = 7, t0 = 5, s1 = 9.
        code.csrw(MTVEC, 31).csrw(MTOLLSP, 30).op(Op::Addi, 5, 0, 0, 5).op(Op::Addi, 10, 0, 0, 7).op(
            Op::Addi,
            9,
            0,
            0,
            9,
        );
        to_user(&mut code);
        code.op(Op::Ecall, 0, 0, 0, 0).op(Op::Addi, 11, 10, 0, 0).op(Op::Jal, 0, 0, 0, 0);
        let mut handler = Asm::default();
        // Clobbers t0 and s1; answers by writing a0's place in the frame: word 4. t6 = frame + FR + EN.
        handler.csrr(31, MTOLLSP).op(Op::Addi, 5, 10, 0, 1);
        let (store, a0) = if word == 8 { (Op::Sd, 4 * 8 - 3) } else { (Op::Sw, 4 * 4 - 3) };
        handler.op(store, 0, 31, 5, a0).op(Op::Addi, 9, 0, 0, 1);
        handler.csrr(5, MEPC).op(Op::Addi, 5, 5, 0, 4).csrw(MEPC, 5).op(Op::Mret, 0, 0, 0, 0);
        for reference in [true, false] {
            let mut m = machine(isa, &code, &handler);
            m.set_x(30, BASE + 0x1000 + 1);
            let mut words = Words::default();
            let _ = if reference { m.run_reference(40, &mut words) } else { m.run(40, &mut words) };
            assert_eq!((m.x(10), m.x(11), m.x(5), m.x(9)), (8, 8, 5, 1), "{isa}");
            assert_eq!(m.csr(MTOLLSP as u16), Some(BASE + 0x1001), "the pointer is back");
            let stacking: Vec<_> = words.0.iter().filter(|a| a.kind == AccessKind::Stacking).collect();
            assert_eq!(stacking.len(), 34);
            assert!(stacking[..17].iter().all(|a| a.store) && stacking[17..].iter().all(|a| !a.store));
            assert_eq!((stacking[0].pa, stacking[0].size), (BASE + 0x1000 - frame, word));
            assert_eq!(
                (stacking[4].value, stacking[21].value),
                (7, 8),
                "a0 as it was, and as it was changed"
            );
        }
    }
}

#[test]
fn a_frame_outside_ram_is_not_written_and_the_handler_can_tell() {
    let mut code = Asm::default();
    code.csrw(MTVEC, 31).csrw(MTOLLSP, 30).op(Op::Ecall, 0, 0, 0, 0);
    let mut handler = Asm::default();
    handler.op(Op::Jal, 0, 0, 0, 0);
    for sp in [0, 0x1000, BASE + 16, !15, BASE + (1 << 20) + 16] {
        let mut m = machine("rv64gc_xtollstack", &code, &handler);
        m.set_x(30, sp | 1);
        let mut words = Words::default();
        m.run(10, &mut words);
        assert!(words.0.is_empty());
        assert_eq!(m.csr(MTOLLSP as u16), Some(sp | 1), "no frame");
        assert_eq!(m.csr(0x342), Some(11));
    }
    assert_eq!(machine("rv64gc", &code, &handler).csr(STOLLSP as u16), None);
}

/// A handler that traps itself stays in its bank: the nested handler finds the registers of the first one.
#[test]
fn a_nested_trap_does_not_switch_banks() {
    let mut code = Asm::default();
    code.csrw(MTVEC, 31).op(Op::Addi, 5, 0, 0, 0x100).csrw(TOLLBANK, 5);
    to_user(&mut code);
    code.op(Op::Ecall, 0, 0, 0, 0);
    let mut handler = Asm::default();
    // First time: s1 of the handler's bank becomes 1, then an ebreak. Second time: stop.
    handler.op(Op::Bne, 0, 9, 0, 12).op(Op::Addi, 9, 0, 0, 1).op(Op::Ebreak, 0, 0, 0, 0);
    handler.op(Op::Addi, 18, 9, 0, 41).op(Op::Jal, 0, 0, 0, 0);
    let mut m = machine("rv64gc_xtollbank", &code, &handler);
    m.run(40, &mut ());
    assert_eq!((m.x(18), m.x(9)), (42, 1));
    assert_eq!(m.csr(TOLLBANK as u16), Some(0x109), "bank 1 in use, and before the nested trap");
}

/// A trap that comes from the handler's own mode does not switch, in whichever bank it finds the hart.
#[test]
fn a_trap_from_the_same_mode_does_not_switch_banks() {
    let mut code = Asm::default();
    code.csrw(MTVEC, 31).op(Op::Addi, 5, 0, 0, 0x100).csrw(TOLLBANK, 5).op(Op::Ebreak, 0, 0, 0, 0);
    let mut handler = Asm::default();
    handler.op(Op::Addi, 18, 5, 0, 1).op(Op::Jal, 0, 0, 0, 0);
    let mut m = machine("rv64gc_xtollbank", &code, &handler);
    m.run(20, &mut ());
    assert_eq!((m.x(18), m.csr(TOLLBANK as u16)), (0x101, Some(0x100)));
}
