//! Hazards of a five-stage machine whose stages wait together and that fetches on wrong paths: the diagrams are drawn by hand
//! from what the RTL of VexRiscv does.

use crate::common::Asm;
use crate::common::diagram::{CODE, Case, asm, hold, run, vexriscv, with};
use tollgate_cores::{Cause, Core, Operation, Stage};
use tollgate_riscv::Op;

fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let mut case = |name, core, steps, charges: &[(Cause, u64)], diagram, f: &dyn Fn(&mut Asm)| {
        all.push(Case { name, core, program: asm(f), steps, diagram, charges: charges.to_vec() });
    };
    let divides = || {
        with(vexriscv(), |c| {
            c.operation.divide = Operation { cycles: 3, late: true, ..Operation::default() };
        })
    };
    let x = Op::Addi;

    // rtl: VexRiscv, the random program seed-06.
    case(
        "a misprediction behind a division in MEM",
        divides(),
        3,
        &[(Cause::LongOperation, 2), (Cause::Branch, 3)],
        "
 IF ID EX ME ME ME WB
 .  IF ID EX EX EX ME WB
x.  .  IF ID ID ID EX
x.  .  .  IF IF IF ID
x.  .  .  .  .  .  IF
 .  .  .  .  .  .  .  IF ID EX ME WB",
        &|a| {
            a.op(Op::Div, 5, 3, 3, 0).op(Op::Beq, 0, 0, 0, 16);
        },
    );
    // rtl: VexRiscv, the same program: a product is as late as what it was computed behind.
    case(
        "a product that a division holds in EX",
        with(divides(), |c| {
            c.operation.multiply =
                Operation { cycles: 3, pipelined: true, late: true, ..Operation::default() };
        }),
        3,
        &[(Cause::LongOperation, 4)],
        "
 IF ID EX ME ME ME WB
 .  IF ID EX EX EX ME WB
 .  .  IF ID ID ID ID ID EX ME WB",
        &|a| {
            a.op(Op::Div, 5, 3, 3, 0).op(Op::Mul, 6, 3, 3, 0).op(x, 7, 6, 0, 1);
        },
    );
    // rtl: VexRiscv, the random program seed-02.
    case(
        "a register that a load and then an addition write",
        vexriscv(),
        3,
        &[(Cause::LoadUse, 1)],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB
 .  .  IF ID ID EX ME WB",
        &|a| {
            a.op(Op::Lw, 5, 3, 0, 0).op(x, 5, 0, 0, 1).op(x, 6, 5, 0, 1);
        },
    );
    // rtl: VexRiscv, cache.load_lines: in EX again five cycles after WB, and there until the line has come.
    let misses = || {
        let toml = "base = 'vexriscv'\nmemory = { latency = 3, miss = 6 }\nl1d.geometry = '64:1:64'";
        with(Core::from_toml(toml).unwrap(), |c| (c.l1i, c.itlb, c.dtlb) = (None, None, None))
    };
    case(
        "a load that misses goes through the pipe again",
        misses(),
        2,
        &[(Cause::DMiss, 9)],
        "
 IF ID ID ID ID ID ID ID ID EX EX EX ME WB
 .  IF IF IF IF IF IF IF IF ID ID ID EX ME WB",
        &|a| {
            a.op(Op::Lw, 5, 3, 0, 0).op(x, 6, 0, 0, 1);
        },
    );
    all
}

#[test]
fn every_hazard_is_as_drawn() {
    hold(&cases());
}

/// Cycles from MEM of a branch that is taken, for the first time, to IF of its target. The two instructions between them
/// were executed before: a load, and one that reads this register.
fn redirection(core: Core, register: u8) -> u64 {
    let program = asm(|a: &mut Asm| {
        a.op(Op::Addi, 6, 0, 0, 1);
        a.op(Op::Beq, 0, 6, 0, 12).op(Op::Lw, 5, 3, 0, 0).op(Op::Addi, 7, register, 0, 1);
        a.op(Op::Addi, 6, 6, 0, -1).op(Op::Jal, 0, 0, 0, -16);
    });
    let case = Case { name: "redirection", core, program, steps: 8, diagram: "", charges: Vec::new() };
    let (_, passages) = run(&case, &mut Vec::new());
    let start = |pc, stage: Stage| {
        let last = passages.iter().rev().find(|it| it.pc == pc && it.squashed.is_none()).unwrap();
        last.starts[stage as usize].unwrap()
    };
    start(CODE + 16, Stage::Fetch) - start(CODE + 4, Stage::Memory)
}

#[test]
fn a_stall_on_a_wrong_path_holds_the_redirection_up() {
    // rtl: VexRiscv, trap.nested and the program hash: a cycle later, when what is in ID waits.
    assert_eq!(redirection(vexriscv(), 5), 2);
    assert_eq!(redirection(vexriscv(), 8), 1);
}
