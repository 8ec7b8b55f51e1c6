//! The five-stage presets against what Ripes counts.
//!
//! Ten programs, each showing one hazard, rewritten from their listings; the cycles are those that Ripes
//! (August 2026 head, RV32, "5-stage processor" and "5-stage processor w/o forwarding") reported for them. Its
//! rules: N + 4, and one more for each load-use (a store's data included), two for each taken branch, jal and
//! jalr; without forwarding an operand of the instruction right behind its producer costs two, one further one.

use crate::common::Asm;
use tollgate_cores::{ByPrivilege, Core, Timed};
use tollgate_riscv::{Config, Machine, Op};

const CODE: u64 = 0x8000_0000;
/// Where `v` is; `x3` points there.
const DATA: u64 = CODE + 0x400;

/// Runs until execution falls off the end; yields instructions and cycles.
fn run(preset: &str, isa: &str, code: &Asm) -> (u64, u64) {
    let core = Core::preset(preset).unwrap();
    let machine = || {
        let mut m = Machine::new(Config { isa: isa.parse().unwrap(), ..Config::default() }).unwrap();
        m.write_memory(CODE, &code.0).unwrap();
        m.write_memory(DATA, &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0]).unwrap();
        m.set_x(3, DATA);
        m
    };
    let mut m = machine();
    let mut timed = Timed::new(&core, (), ()).unwrap();
    while m.pc() < CODE + code.here() {
        m.step(&mut timed);
    }
    assert_eq!(timed.ledger().total(), timed.cycles());
    let mut again = machine();
    let mut blocks = Timed::new(&core, ByPrivilege, ()).unwrap();
    again.run(m.instret(), &mut blocks);
    assert_eq!(blocks.cycles(), timed.cycles());
    assert_eq!(blocks.ledger().total(), timed.cycles());
    (m.instret(), timed.cycles())
}

#[test]
fn cycles_are_ripes_cycles() {
    for isa in ["rv32im", "rv64im"] {
        let rv64 = isa == "rv64im";
        let addi = if rv64 { Op::Addi } else { Op::Addi32 };
        let add = if rv64 { Op::Add } else { Op::Add32 };
        let sub = if rv64 { Op::Sub } else { Op::Sub32 };
        let mul = if rv64 { Op::Mul } else { Op::Mul32 };
        let div = if rv64 { Op::Div } else { Op::Div32 };
        let rem = if rv64 { Op::Rem } else { Op::Rem32 };
        let program = |f: &dyn Fn(&mut Asm)| {
            let mut a = Asm::default();
            f(&mut a);
            a
        };
        let li = |a: &mut Asm, rd: u8, v: i64| {
            a.op(addi, rd, 0, 0, v);
        };
        // Name, program, instructions, cycles, cycles without forwarding.
        let cases = [
            (
                "no hazard",
                program(&|a| {
                    for (r, v) in [(5, 1), (6, 2), (7, 3), (8, 4), (9, 5), (18, 6)] {
                        li(a, r, v);
                    }
                }),
                (6, 10, 10),
            ),
            (
                "load-use",
                program(&|a| {
                    a.op(Op::Lw, 5, 3, 0, 0).op(addi, 6, 5, 0, 1);
                    li(a, 7, 3);
                    li(a, 8, 4);
                }),
                (4, 9, 10),
            ),
            (
                "load-use, one between",
                program(&|a| {
                    a.op(Op::Lw, 5, 3, 0, 0);
                    li(a, 7, 3);
                    a.op(addi, 6, 5, 0, 1);
                    li(a, 8, 4);
                }),
                (4, 8, 9),
            ),
            (
                "chain",
                program(&|a| {
                    li(a, 5, 1);
                    a.op(addi, 5, 5, 0, 2).op(add, 6, 5, 5, 0).op(sub, 7, 6, 5, 0).op(Op::Xor, 8, 7, 6, 0);
                }),
                (5, 9, 17),
            ),
            (
                "branch taken",
                program(&|a| {
                    li(a, 5, 1);
                    a.op(Op::Beq, 0, 0, 0, 12);
                    for (r, v) in [(6, 2), (7, 3), (8, 4), (9, 5)] {
                        li(a, r, v);
                    }
                }),
                (4, 10, 10),
            ),
            (
                "branch not taken",
                program(&|a| {
                    li(a, 5, 1);
                    a.op(Op::Bne, 0, 0, 0, 12);
                    for (r, v) in [(6, 2), (7, 3), (8, 4), (9, 5)] {
                        li(a, r, v);
                    }
                }),
                (6, 10, 10),
            ),
            // A further trial: it squashes what was fetched, though that is where it goes.
            (
                "branch taken to the next instruction",
                program(&|a| {
                    li(a, 5, 1);
                    a.op(Op::Beq, 0, 0, 0, 4);
                    li(a, 6, 2);
                }),
                (3, 9, 9),
            ),
            (
                "jal to the next instruction",
                program(&|a| {
                    li(a, 5, 1);
                    a.op(Op::Jal, 0, 0, 0, 4);
                    li(a, 6, 2);
                }),
                (3, 9, 9),
            ),
            // A further trial: only without forwarding, and only directly behind the load.
            (
                "load into x0 and a use of x0",
                program(&|a| {
                    a.op(Op::Lw, 0, 3, 0, 0);
                    li(a, 6, 2);
                    li(a, 7, 2);
                }),
                (3, 7, 8),
            ),
            (
                "load into x0 and a later use of x0",
                program(&|a| {
                    a.op(Op::Lw, 0, 3, 0, 0).op(addi, 6, 3, 0, 2);
                    li(a, 7, 2);
                }),
                (3, 7, 7),
            ),
            (
                "addition into x0 and a use of x0",
                program(&|a| {
                    a.op(addi, 0, 3, 0, 1);
                    li(a, 7, 2);
                }),
                (2, 6, 6),
            ),
            (
                "jal",
                program(&|a| {
                    li(a, 5, 1);
                    a.op(Op::Jal, 1, 0, 0, 12);
                    for (r, v) in [(6, 2), (7, 3), (8, 4), (9, 5)] {
                        li(a, r, v);
                    }
                }),
                (4, 10, 10),
            ),
            (
                "jalr",
                program(&|a| {
                    // Here the code is not at 0: gp, set beforehand, is the base of the addition.
                    a.op(addi, 5, 3, 0, 20 - 0x400);
                    li(a, 6, 2);
                    a.op(Op::Jalr, 1, 5, 0, 0);
                    for (r, v) in [(7, 3), (8, 4), (9, 5), (18, 6)] {
                        li(a, r, v);
                    }
                }),
                (5, 11, 12),
            ),
            (
                "store after load",
                program(&|a| {
                    a.op(addi, 6, 3, 0, 0).op(Op::Lw, 5, 3, 0, 0).op(Op::Sw, 0, 3, 5, 4);
                    li(a, 7, 3);
                    a.op(Op::Lw, 8, 3, 0, 4);
                    li(a, 9, 5);
                }),
                (6, 11, 12),
            ),
            (
                "multiply and divide",
                program(&|a| {
                    li(a, 5, 7);
                    li(a, 6, 3);
                    a.op(mul, 7, 5, 6, 0).op(mul, 8, 7, 6, 0).op(div, 9, 8, 5, 0).op(rem, 18, 9, 6, 0);
                    a.op(addi, 19, 18, 0, 1);
                }),
                (7, 11, 21),
            ),
        ];
        for (name, code, (instructions, cycles, without)) in cases {
            assert_eq!(run("ripes-5stage", isa, &code), (instructions, cycles), "{name}, {isa}");
            let seen = run("ripes-5stage-noforward", isa, &code);
            assert_eq!(seen, (instructions, without), "{name} without forwarding, {isa}");
        }
    }
}
