//! Shadow stacks and landing pads (Zicfiss and Zicfilp), on both engines.

use super::extensions::*;
use crate::common::Asm;
use tollgate_riscv::{Cause, Isa, Machine, MachineKind, Op, Trap, disassemble, disassemble_compressed};

const ISA: &str = "rv64gc_zimop_zcmop_zicfilp_zicfiss";
const SSP: i64 = 0x011;
const MSECCFG: i64 = 0x747;
const SSE: u64 = 8;
const LPE: u64 = 4;
const MLPE: u64 = 1 << 10;
const USER: u64 = 0x10;
const MPELP: u64 = 1 << 41;
/// A page of a shadow stack.
const STACK: u64 = V | W | A | D;
const TOP: i32 = PAGE as i32 + 0x800;

/// Words of clang-19.
#[test]
fn encodings_are_those_of_clang() {
    let isa: Isa = ISA.parse().unwrap();
    for (word, text) in [
        (0xce50_4073, "sspush t0"),
        (0xcdc0_c073, "sspopchk ra"),
        (0xcdc0_42f3, "ssrdp t0"),
        (0x48b6_252f, "ssamoswap.w a0,a1,(a2)"),
        (0x4eb6_352f, "ssamoswap.d.aqrl a0,a1,(a2)"),
        (0x0001_6017, "lpad 0x16"),
        (0x0001_6297, "auipc t0,0x16"),
    ] {
        assert_eq!(disassemble(word, isa), text);
    }
    assert_eq!(disassemble_compressed(0x6081, isa).as_deref(), Some("c.sspush ra"));
    assert_eq!(disassemble_compressed(0x6281, isa).as_deref(), Some("c.sspopchk t0"));
    // Without the extensions these are what they were before.
    let old: Isa = "rv64gc_zimop".parse().unwrap();
    assert_eq!(disassemble(0xce50_4073, old), "mop.rr.7 zero,zero,t0");
    assert_eq!(disassemble(0x0001_6017, old), "auipc zero,0x16");
}

/// Runs code in S-mode with shadow stacks, and with `ssp` at the middle of the page.
fn in_shadow(leaf: u64, sse: u64, code: impl Fn(&mut Asm)) -> (Machine, Vec<Trap>) {
    let setup = |a: &mut Asm| {
        translate(a);
        set(a, MENVCFG, sse);
        a.li(7, TOP).csrw(SSP, 7);
    };
    both(ISA, MachineKind::Spike, &start(setup, SUPERVISOR, code), leaf)
}

#[test]
fn a_return_address_is_pushed_and_compared() {
    let (machine, traps) = in_shadow(STACK, SSE, |a| {
        a.li(1, 77).op(Op::Sspush, 0, 0, 1, 0).op(Op::Ssrdp, 10, 0, 0, 0).li(5, 77).half(0x6281).half(1);
        a.op(Op::Ssrdp, 11, 0, 0, 0).li(12, TOP - 8).op(Op::Ld, 13, 12, 0, 0);
        a.li(14, 5).op(Op::SsamoswapD, 15, 12, 14, 0).op(Op::Ld, 16, 12, 0, 0);
    });
    assert_eq!(traps, []);
    let top = TOP as u64;
    assert_eq!([10, 11, 13, 15, 16].map(|r| machine.x(r)), [top - 8, top, 77, 77, 5]);
    // Another address: a software check with code 3, and the stack stays.
    let (machine, traps) = in_shadow(STACK, SSE, |a| {
        a.li(1, 77).op(Op::Sspush, 0, 0, 1, 0).li(1, 78).op(Op::Sspopchk, 0, 1, 0, 0);
    });
    assert_eq!((traps[0].cause, traps[0].tval), (Cause::SoftwareCheck, 3));
    assert_eq!(machine.csr(SSP as u16), Some(top - 8));
    // Switched off, they write zero, `ssp` cannot be accessed, and a swap is illegal.
    let (machine, traps) = in_shadow(STACK, 0, |a| {
        a.li(1, 77).op(Op::Sspush, 0, 0, 1, 0).op(Op::Sspopchk, 0, 1, 0, 0).op(Op::Ssrdp, 10, 0, 0, 0);
    });
    assert_eq!((machine.x(10), machine.csr(SSP as u16), traps.len()), (0, Some(top), 0));
    let read = in_shadow(STACK, 0, |a| {
        a.csrr(10, SSP);
    });
    let swap = in_shadow(STACK, 0, |a| {
        a.op(Op::SsamoswapW, 10, 7, 7, 0);
    });
    for (_, traps) in [read, swap] {
        assert_eq!(traps[0].cause, Cause::IllegalInstruction);
    }
}

/// Privileged specification, 22.2.5.
#[test]
fn pages_of_shadow_stacks_are_for_them_and_for_loads() {
    let access = |op: Op| {
        move |a: &mut Asm| {
            a.li(11, PAGE as i32 + 0x100).op(op, 1, 11, 12, 0);
        }
    };
    let push = |a: &mut Asm| {
        a.op(Op::Sspush, 0, 0, 1, 0);
    };
    type Code<'a> = &'a dyn Fn(&mut Asm);
    let [load, store, jump, swap] =
        [Op::Ld, Op::Sd, Op::Jalr, Op::SsamoswapD].map(|op| Box::new(access(op)) as Box<dyn Fn(&mut Asm)>);
    let cases: [(Code<'_>, u64, u64, Option<Cause>); 12] = [
        (&load, STACK, SSE, None),
        (&swap, STACK, SSE, None),
        (&store, STACK, SSE, Some(Cause::StoreAccessFault)),
        (&jump, STACK, SSE, Some(Cause::InstructionAccessFault)),
        (&push, V | R | W | A | D, SSE, Some(Cause::StoreAccessFault)),
        (&push, V | R | X | A | D, SSE, Some(Cause::StoreAccessFault)),
        (&push, V | R | A | D, SSE, Some(Cause::StorePageFault)),
        (&push, V | W | A, SSE, Some(Cause::StorePageFault)),
        (&push, STACK | USER, SSE, Some(Cause::StorePageFault)),
        (&push, 0, SSE, Some(Cause::StorePageFault)),
        // Reserved without shadow stacks, and in any case with X.
        (&load, STACK, 0, Some(Cause::LoadPageFault)),
        (&load, STACK | X, SSE, Some(Cause::LoadPageFault)),
    ];
    for (n, (code, leaf, sse, expected)) in cases.into_iter().enumerate() {
        let (_, traps) = in_shadow(leaf, sse, code);
        assert_eq!(traps.first().map(|trap| trap.cause), expected, "case {n}");
    }
    // Without translation there are no such pages.
    let setup = |a: &mut Asm| set(a, MENVCFG, SSE);
    let (_, traps) = both(ISA, MachineKind::Spike, &start(setup, SUPERVISOR, push), 0);
    assert_eq!(traps[0].cause, Cause::StoreAccessFault);
}

#[test]
fn an_indirect_jump_leads_to_a_landing_pad() {
    const TO: u64 = LOWER + 0x200;
    // Where it leads: a label of 5 is expected in x7 (t2).
    let jump = |register: u8, link: u8, at: u64, pad: u32| {
        move |a: &mut Asm| {
            constant(a, register, TO + at);
            a.li(7, 5 << 12).op(Op::Jalr, link, register, 0, 0);
            a.0.resize((TO + at - LOWER) as usize, 0x01);
            a.word(pad).op(Op::Addi, 10, 0, 0, 42);
        }
    };
    let run = |lpe: u64, code: &dyn Fn(&mut Asm)| {
        let setup = |a: &mut Asm| set(a, MENVCFG, lpe);
        let (machine, traps) = both(ISA, MachineKind::Spike, &start(setup, SUPERVISOR, code), 0);
        let check = traps.first().map(|trap| (trap.cause, trap.tval, trap.epc));
        // At a failed check the expectation is in MPELP; at a landing pad it ends.
        assert_eq!(machine.csr(MSTATUS as u16).unwrap() & MPELP != 0, check.is_some());
        (check.map(|(cause, tval, _)| (cause, tval)), machine.x(10))
    };
    let fault = (Some((Cause::SoftwareCheck, 2)), 0);
    let (nop, lpad0, lpad5, lpad6) = (0x13, 0x17, 5 << 12 | 0x17, 6 << 12 | 0x17);
    for (register, link, at, pad, expected) in [
        (11, 0, 0, lpad5, (None, 42)),
        (11, 1, 0, lpad0, (None, 42)),
        (11, 0, 0, lpad6, fault),
        (11, 1, 0, nop, fault),
        (11, 0, 0, u32::MAX, fault),
        (11, 0, 2, lpad0, fault),
        // A return, and a jump that software guards.
        (1, 0, 0, nop, (None, 42)),
        (5, 1, 0, nop, (None, 42)),
    ] {
        let code = jump(register, link, at, pad);
        assert_eq!(run(LPE, &code), expected, "x{register}, {at}, {pad:#x}");
        if pad != u32::MAX {
            assert_eq!(run(0, &code), (None, 42), "off: x{register}, {at}, {pad:#x}");
        }
    }
    // M-mode has a switch of its own; the return there takes MPELP with it.
    let setup = |a: &mut Asm| set(a, MSECCFG, MLPE);
    let code = start(setup, 3 << 11 | MPELP, |a| {
        a.op(Op::Addi, 10, 0, 0, 42);
    });
    let (machine, traps) = both(ISA, MachineKind::Spike, &code, 0);
    assert_eq!(
        (traps[0].cause, traps[0].tval, traps[0].epc, machine.x(10)),
        (Cause::SoftwareCheck, 2, LOWER, 0)
    );
}

#[test]
fn a_snapshot_keeps_the_shadow_stack_pointer() {
    let code = start(
        |a| {
            a.li(7, TOP).csrw(SSP, 7);
        },
        SUPERVISOR,
        |_| {},
    );
    let (mut machine, _) = both(ISA, MachineKind::Virt, &code, 0);
    let restored = Machine::restore(&machine.save().unwrap(), None).unwrap();
    assert_eq!(restored.csr(SSP as u16), Some(TOP as u64));
}
