//! CV32E40X against its manual: the table "Cycle counts per instruction type" and the hazards below it (user manual 0.6.0,
//! Pipeline Details).

use crate::common::Asm;
use tollgate_cores::{Core, Timed};
use tollgate_riscv::{Config, Machine, Op};

const CODE: u64 = 0x8000_0000;
const DATA: u64 = 0x8000_1000;

/// The cycles that instructions add between others that take one each, in the order in which they are executed.
fn cycles(instructions: &dyn Fn(&mut Asm), steps: u64) -> u64 {
    let mut asm = Asm::default();
    let nop = |asm: &mut Asm| {
        asm.op(Op::Addi, 9, 0, 0, 0);
    };
    for _ in 0..8 {
        nop(&mut asm);
    }
    instructions(&mut asm);
    while asm.here() < 128 {
        nop(&mut asm);
    }
    let isa = "rv32imc_zicsr_zifencei".parse().unwrap();
    let mut machine = Machine::new(Config { isa, misaligned: true, ..Config::default() }).unwrap();
    machine.write_memory(CODE, &asm.0).unwrap();
    machine.write_memory(DATA, &(CODE as u32 + 60).to_le_bytes()).unwrap();
    // Operands: data, a divisor without and with leading zeros, the addresses of instructions.
    for (register, value) in [(10, DATA), (11, 0x8000_0000), (12, 1), (13, 0), (14, CODE + 60)] {
        machine.set_x(register, value);
    }
    let mut timed = Timed::new(&Core::preset("cv32e40x").unwrap(), (), ()).unwrap();
    for _ in 0..8 {
        timed.step(&mut machine);
    }
    let before = timed.cycles();
    // And one of the others behind them.
    for _ in 0..=steps {
        timed.step(&mut machine);
    }
    assert_eq!(timed.ledger().total(), timed.cycles());
    timed.cycles() - before - 1
}

fn one(op: Op, rd: u8, rs1: u8, rs2: u8, imm: i64) -> u64 {
    let it = |asm: &mut Asm| {
        asm.op(op, rd, rs1, rs2, imm);
    };
    cycles(&it, 1)
}

/// A jump to an instruction of four bytes that begins in one word and ends in the next.
fn to_two_words(op: Op) -> u64 {
    let jump = |asm: &mut Asm| {
        // Three nops, the second behind a short one and the third before one.
        asm.op(op, 0, 0, 0, 10).word(0x493).word(0x0493_0001).word(0x0001_0000);
    };
    cycles(&jump, 1)
}

#[test]
fn each_type_of_instruction_takes_the_cycles_of_the_manual() {
    for (what, seen, manual) in [
        ("integer", one(Op::Add, 5, 6, 7, 0), 1),
        ("csr", one(Op::Csrrw, 0, 6, 0, 0x340), 1),
        ("load", one(Op::Lw, 5, 10, 0, 0), 1),
        ("load, misaligned", one(Op::Lw, 5, 10, 0, 1), 2),
        ("store", one(Op::Sw, 0, 10, 6, 0), 1),
        ("halfword within a word", one(Op::Lh, 5, 10, 0, 1), 1),
        ("mul", one(Op::Mul, 5, 6, 7, 0), 1),
        ("mulhu", one(Op::Mulhu, 5, 6, 7, 0), 4),
        ("by 0x80000000", one(Op::Divu, 5, 6, 11, 0), 3),
        ("by 1", one(Op::Remu, 5, 6, 12, 0), 34),
        ("by 0", one(Op::Div, 5, 6, 13, 0), 35),
        ("jump", one(Op::Jal, 0, 0, 0, 8), 2),
        ("jump to two words", to_two_words(Op::Jal), 3),
        ("branch, not taken", one(Op::Bne, 0, 0, 0, 8), 1),
        ("branch, taken", one(Op::Beq, 0, 0, 0, 8), 3),
        ("branch to two words", to_two_words(Op::Beq), 4),
    ] {
        assert_eq!(seen, manual, "{what}");
    }
}

#[test]
fn hazards_take_the_cycles_of_the_manual() {
    let behind = |first: (Op, u8, u8, u8, i64), second: (Op, u8, u8, u8, i64)| {
        let both = |asm: &mut Asm| {
            for (op, rd, rs1, rs2, imm) in [first, second] {
                asm.op(op, rd, rs1, rs2, imm);
            }
        };
        cycles(&both, 2)
    };
    let load = (Op::Lw, 5, 10, 0, 0);
    let target = (Op::Addi, 5, 14, 0, 0);
    let jump = (Op::Jalr, 0, 5, 0, 0);
    // One cycle each and two for the jump, and the penalties: one, one and two.
    assert_eq!(behind(load, (Op::Addi, 6, 5, 0, 1)), 2 + 1);
    assert_eq!(behind(load, (Op::Addi, 6, 7, 0, 1)), 2);
    assert_eq!(behind(target, jump), 3 + 1);
    assert_eq!(behind(load, jump), 3 + 2);
    assert_eq!(behind(target, (Op::Jalr, 0, 14, 0, 0)), 3);
}
