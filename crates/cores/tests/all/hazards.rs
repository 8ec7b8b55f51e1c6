//! Canonical hazards, each with the stage diagram drawn by hand from the textbook's rules: the model has to draw
//! the same one.
//!
//! A row is an instruction, a column a cycle; `.` is not in the pipe. A stage that is repeated is one in
//! which the instruction stalls. Rows with `x` are squashed.

use crate::common::Asm;
use crate::common::diagram::{Case, asm, hold, ripes, with};
use tollgate_cores::{Cause, Core, Operation, Predictor};
use tollgate_riscv::Op;

const MTVEC: i64 = 0x305;
const MEPC: i64 = 0x341;
const MSCRATCH: i64 = 0x340;

fn cases() -> Vec<Case> {
    let lw = |a: &mut Asm| {
        a.op(Op::Lw, 5, 3, 0, 0);
    };
    let mut all = Vec::new();
    let mut case = |name, core, steps, charges: &[(Cause, u64)], diagram, f: &dyn Fn(&mut Asm)| {
        all.push(Case { name, core, program: asm(f), steps, diagram, charges: charges.to_vec() });
    };
    let noforward = || Core::preset("ripes-5stage-noforward").unwrap();
    let cached = || {
        let toml = "[memory]\nlatency = 3\n[l1i]\ngeometry = '64:1:4096'\n[l1d]\ngeometry = '64:1:64'";
        with(Core::from_toml(toml).unwrap(), |c| {
            c.branch.mispredict = 2;
            c.branch.jump = 2;
        })
    };
    let dcached = || with(cached(), |c| c.l1i = None);
    let x = Op::Addi;

    case(
        "independent",
        ripes(),
        3,
        &[],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB
 .  .  IF ID EX ME WB",
        &|a| {
            a.op(x, 5, 0, 0, 1).op(x, 6, 0, 0, 2).op(x, 7, 0, 0, 3);
        },
    );
    case(
        "forwarded from EX",
        ripes(),
        2,
        &[],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB",
        &|a| {
            a.op(x, 5, 0, 0, 1).op(x, 6, 5, 0, 2);
        },
    );
    case(
        "forwarded from MEM",
        ripes(),
        3,
        &[],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB
 .  .  IF ID EX ME WB",
        &|a| {
            a.op(x, 5, 0, 0, 1).op(x, 6, 0, 0, 2).op(Op::Add, 7, 5, 6, 0);
        },
    );
    case(
        "load, use",
        ripes(),
        3,
        &[(Cause::LoadUse, 1)],
        "
 IF ID EX ME WB
 .  IF ID ID EX ME WB
 .  .  IF IF ID EX ME WB",
        &|a| {
            lw(a);
            a.op(x, 6, 5, 0, 1).op(x, 7, 0, 0, 3);
        },
    );
    case(
        "load, other, use",
        ripes(),
        3,
        &[],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB
 .  .  IF ID EX ME WB",
        &|a| {
            lw(a);
            a.op(x, 7, 0, 0, 3).op(x, 6, 5, 0, 1);
        },
    );
    case(
        "load, store of it",
        ripes(),
        2,
        &[(Cause::LoadUse, 1)],
        "
 IF ID EX ME WB
 .  IF ID ID EX ME WB",
        &|a| {
            lw(a);
            a.op(Op::Sw, 0, 3, 5, 4);
        },
    );
    case(
        "load, store of it, forwarded to MEM",
        with(ripes(), |c| c.pipeline.store_data_late = true),
        2,
        &[],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB",
        &|a| {
            lw(a);
            a.op(Op::Sw, 0, 3, 5, 4);
        },
    );
    case(
        "load, store to it, forwarded to MEM in vain",
        with(ripes(), |c| c.pipeline.store_data_late = true),
        2,
        &[(Cause::LoadUse, 1)],
        "
 IF ID EX ME WB
 .  IF ID ID EX ME WB",
        &|a| {
            a.op(Op::Ld, 5, 3, 0, 8).op(Op::Sw, 0, 5, 3, 4);
        },
    );
    case(
        "load, branch on it",
        ripes(),
        3,
        &[(Cause::LoadUse, 1)],
        "
 IF ID EX ME WB
 .  IF ID ID EX ME WB
 .  .  IF IF ID EX ME WB",
        &|a| {
            lw(a);
            a.op(Op::Bne, 0, 5, 5, 16).op(x, 7, 0, 0, 3);
        },
    );
    case(
        "load, load from it",
        ripes(),
        2,
        &[(Cause::LoadUse, 1)],
        "
 IF ID EX ME WB
 .  IF ID ID EX ME WB",
        &|a| {
            a.op(Op::Ld, 5, 3, 0, 8).op(Op::Lw, 6, 5, 0, 0);
        },
    );
    case(
        "load with two bubbles, use",
        with(ripes(), |c| c.pipeline.load_use = 2),
        2,
        &[(Cause::LoadUse, 2)],
        "
 IF ID EX ME WB
 .  IF ID ID ID EX ME WB",
        &|a| {
            lw(a);
            a.op(x, 6, 5, 0, 1);
        },
    );
    case(
        "loading into x0",
        ripes(),
        2,
        &[],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB",
        &|a| {
            a.op(Op::Lw, 0, 3, 0, 0).op(x, 6, 0, 0, 1);
        },
    );
    case(
        "no forwarding, next",
        noforward(),
        2,
        &[(Cause::LoadUse, 2)],
        "
 IF ID EX ME WB
 .  IF ID ID ID EX ME WB",
        &|a| {
            a.op(x, 5, 0, 0, 1).op(x, 6, 5, 0, 2);
        },
    );
    case(
        "no forwarding, next but one",
        noforward(),
        3,
        &[(Cause::LoadUse, 1)],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB
 .  .  IF ID ID EX ME WB",
        &|a| {
            a.op(x, 5, 0, 0, 1).op(x, 6, 0, 0, 2).op(x, 7, 5, 0, 2);
        },
    );
    case(
        "no forwarding, third",
        noforward(),
        4,
        &[],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB
 .  .  IF ID EX ME WB
 .  .  .  IF ID EX ME WB",
        &|a| {
            a.op(x, 5, 0, 0, 1).op(x, 6, 0, 0, 2).op(x, 7, 0, 0, 2).op(x, 8, 5, 0, 2);
        },
    );
    case(
        "branch taken",
        ripes(),
        2,
        &[(Cause::Branch, 2)],
        "
 IF ID EX ME WB
x.  IF ID
x.  .  IF
 .  .  .  IF ID EX ME WB",
        &|a| {
            a.op(Op::Beq, 0, 0, 0, 16);
        },
    );
    case(
        "branch not taken",
        ripes(),
        2,
        &[],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB",
        &|a| {
            a.op(Op::Bne, 0, 0, 0, 16);
        },
    );
    case(
        "jal",
        ripes(),
        2,
        &[(Cause::Branch, 2)],
        "
 IF ID EX ME WB
x.  IF ID
x.  .  IF
 .  .  .  IF ID EX ME WB",
        &|a| {
            a.op(Op::Jal, 1, 0, 0, 16);
        },
    );
    case(
        "jal resolved in ID",
        with(ripes(), |c| c.branch.jump = 1),
        2,
        &[(Cause::Branch, 1)],
        "
 IF ID EX ME WB
x.  IF
 .  .  IF ID EX ME WB",
        &|a| {
            a.op(Op::Jal, 1, 0, 0, 16);
        },
    );
    case(
        "jalr",
        ripes(),
        2,
        &[(Cause::Branch, 2)],
        "
 IF ID EX ME WB
x.  IF ID
x.  .  IF
 .  .  .  IF ID EX ME WB",
        &|a| {
            a.op(Op::Jalr, 1, 30, 0, 0);
        },
    );
    case(
        "load, jalr to it",
        ripes(),
        4,
        &[(Cause::LoadUse, 1), (Cause::Branch, 2)],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB
 .  .  IF ID ID EX ME WB
x.  .  .  IF IF ID
x.  .  .  .  .  IF
 .  .  .  .  .  .  IF ID EX ME WB",
        &|a| {
            a.op(Op::Sd, 0, 3, 30, 0).op(Op::Ld, 5, 3, 0, 0).op(Op::Jalr, 1, 5, 0, 0);
        },
    );
    let backward = || {
        with(ripes(), |c| {
            c.branch.predictor = Predictor::BackwardTaken;
            c.branch.taken = 1;
        })
    };
    case(
        "predicted taken, taken",
        backward(),
        3,
        &[(Cause::Branch, 1)],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB
x.  .  IF
 .  .  .  IF ID EX ME WB",
        &|a| {
            a.op(x, 5, 0, 0, 1).op(Op::Beq, 0, 0, 0, -4);
        },
    );
    case(
        "predicted taken, not taken",
        backward(),
        3,
        &[(Cause::Branch, 2)],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB
x.  .  IF ID
x.  .  .  IF
 .  .  .  .  IF ID EX ME WB",
        &|a| {
            a.op(x, 5, 0, 0, 1).op(Op::Bne, 0, 0, 0, -4);
        },
    );
    // The first time round the counter is weakly not taken; then it and the target buffer know.
    case(
        "bimodal learns",
        with(ripes(), |c| {
            c.branch.predictor = Predictor::Bimodal;
            c.branch.counters = 16;
            c.branch.btb = 16;
        }),
        3,
        &[(Cause::Branch, 2)],
        "
 IF ID EX ME WB
x.  IF ID
x.  .  IF
 .  .  .  IF ID EX ME WB
 .  .  .  .  IF ID EX ME WB",
        &|a| {
            a.op(Op::Beq, 0, 0, 0, 0);
        },
    );
    case(
        "return stack",
        with(ripes(), |c| c.branch.return_stack = 4),
        3,
        &[(Cause::Branch, 2)],
        "
 IF ID EX ME WB
x.  IF ID
x.  .  IF
 .  .  .  IF ID EX ME WB
 .  .  .  .  IF ID EX ME WB",
        &|a| {
            // jal ra, +8; nop; ret, back to the nop.
            a.op(Op::Jal, 1, 0, 0, 8).op(x, 9, 0, 0, 0).op(Op::Jalr, 0, 1, 0, 0);
        },
    );
    let multiplier = |cycles, pipelined| {
        with(ripes(), |c| c.operation.multiply = Operation { cycles, pipelined, ..Operation::default() })
    };
    case(
        "multiplier busy",
        multiplier(3, false),
        3,
        &[(Cause::LongOperation, 2)],
        "
 IF ID EX EX EX ME WB
 .  IF ID ID ID EX ME WB
 .  .  IF IF IF ID EX ME WB",
        &|a| {
            a.op(Op::Mul, 5, 3, 3, 0).op(x, 6, 0, 0, 1).op(x, 7, 0, 0, 1);
        },
    );
    case(
        "pipelined multiplier, others",
        multiplier(3, true),
        3,
        &[],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB
 .  .  IF ID EX ME WB",
        &|a| {
            a.op(Op::Mul, 5, 3, 3, 0).op(Op::Mul, 6, 3, 3, 0).op(x, 7, 0, 0, 1);
        },
    );
    case(
        "pipelined multiplier, use",
        multiplier(3, true),
        2,
        &[(Cause::LongOperation, 2)],
        "
 IF ID EX ME WB
 .  IF ID ID ID EX ME WB",
        &|a| {
            a.op(Op::Mul, 5, 3, 3, 0).op(x, 6, 5, 0, 1);
        },
    );
    case(
        "divider",
        with(ripes(), |c| c.operation.divide.cycles = 4),
        2,
        &[(Cause::LongOperation, 3)],
        "
 IF ID EX EX EX EX ME WB
 .  IF ID ID ID ID EX ME WB",
        &|a| {
            a.op(Op::Div, 5, 3, 3, 0).op(x, 6, 5, 0, 1);
        },
    );
    case(
        "CSR waits for an empty pipe",
        with(ripes(), |c| c.system.csr_drain = true),
        2,
        &[(Cause::Csr, 2)],
        "
 IF ID EX ME WB
 .  IF ID ID ID EX ME WB",
        &|a| {
            a.op(x, 5, 0, 0, 1).csrr(6, MSCRATCH);
        },
    );
    case(
        "use of a CSR",
        with(ripes(), |c| c.system.csr_use = 2),
        2,
        &[(Cause::Csr, 2)],
        "
 IF ID EX ME WB
 .  IF ID ID ID EX ME WB",
        &|a| {
            a.csrr(6, MSCRATCH).op(x, 5, 6, 0, 1);
        },
    );
    case(
        "CSR write flushes",
        with(ripes(), |c| c.system.csr_flush = 4),
        2,
        &[(Cause::Csr, 4)],
        "
 IF ID EX ME WB
x.  IF ID EX ME
x.  .  IF ID EX
x.  .  .  IF ID
x.  .  .  .  IF
 .  .  .  .  .  IF ID EX ME WB",
        &|a| {
            a.csrw(MSCRATCH, 3);
        },
    );
    case(
        "fence.i",
        ripes(),
        2,
        &[(Cause::Csr, 4)],
        "
 IF ID EX ME WB
x.  IF ID EX ME
x.  .  IF ID EX
x.  .  .  IF ID
x.  .  .  .  IF
 .  .  .  .  .  IF ID EX ME WB",
        &|a| {
            a.op(Op::FenceI, 0, 0, 0, 0);
        },
    );
    // The slot of the ecall itself, which does not retire, and four squashed behind it.
    case(
        "trap",
        ripes(),
        3,
        &[(Cause::TrapFlush, 5)],
        "
 IF ID EX ME WB
x.  IF ID EX ME WB
x.  .  IF ID EX ME
x.  .  .  IF ID EX
x.  .  .  .  IF ID
x.  .  .  .  .  IF
 .  .  .  .  .  .  IF ID EX ME WB",
        &|a| {
            a.csrw(MTVEC, 30).op(Op::Ecall, 0, 0, 0, 0);
        },
    );
    case(
        "ecall behind a register write",
        ripes(),
        3,
        &[(Cause::TrapFlush, 1), (Cause::LoadUse, 2)],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB
x.  .  IF ID ID ID EX ME WB",
        &|a| {
            a.csrw(MTVEC, 30).op(x, 17, 0, 0, 10).op(Op::Ecall, 0, 0, 0, 0);
        },
    );
    case(
        "return",
        ripes(),
        3,
        &[(Cause::TrapFlush, 4)],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB
x.  .  IF ID EX ME
x.  .  .  IF ID EX
x.  .  .  .  IF ID
x.  .  .  .  .  IF
 .  .  .  .  .  .  IF ID EX ME WB",
        &|a| {
            a.csrw(MEPC, 30).op(Op::Mret, 0, 0, 0, 0);
        },
    );
    case(
        "instruction miss",
        cached(),
        2,
        &[(Cause::IMiss, 3)],
        "
 IF IF IF IF ID EX ME WB
 .  .  .  .  IF ID EX ME WB",
        &|a| {
            a.op(x, 5, 0, 0, 1).op(x, 6, 0, 0, 1);
        },
    );
    case(
        "data miss",
        dcached(),
        3,
        &[(Cause::DMiss, 3)],
        "
 IF ID EX ME ME ME ME WB
 .  IF ID EX EX EX EX ME WB
 .  .  IF ID ID ID ID EX ME WB",
        &|a| {
            lw(a);
            a.op(x, 6, 0, 0, 1).op(x, 7, 0, 0, 1);
        },
    );
    case(
        "data miss, use",
        dcached(),
        2,
        &[(Cause::DMiss, 3), (Cause::LoadUse, 1)],
        "
 IF ID EX ME ME ME ME WB
 .  IF ID ID ID ID ID EX ME WB",
        &|a| {
            lw(a);
            a.op(x, 6, 5, 0, 1);
        },
    );
    case(
        "data miss, then a hit in the line",
        dcached(),
        2,
        &[(Cause::DMiss, 3)],
        "
 IF ID EX ME ME ME ME WB
 .  IF ID EX EX EX EX ME WB",
        &|a| {
            lw(a);
            a.op(Op::Lw, 6, 3, 0, 4);
        },
    );
    case(
        "store miss, buffered",
        dcached(),
        2,
        &[],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB",
        &|a| {
            a.op(Op::Sw, 0, 3, 0, 0).op(x, 6, 0, 0, 1);
        },
    );
    case(
        "store miss, waited for",
        with(dcached(), |c| c.memory.stores_wait = true),
        2,
        &[(Cause::DMiss, 3)],
        "
 IF ID EX ME ME ME ME WB
 .  IF ID EX EX EX EX ME WB",
        &|a| {
            a.op(Op::Sw, 0, 3, 0, 0).op(x, 6, 0, 0, 1);
        },
    );
    // addi at 34, 32 bits long, in two words, both of which have to be fetched behind a jump.
    case(
        "jump to an instruction in two words",
        with(ripes(), |c| c.pipeline.fetch_width = 4),
        2,
        &[(Cause::Branch, 2), (Cause::Structural, 1)],
        "
 IF ID EX ME WB
x.  IF ID
x.  .  IF
 .  .  .  IF IF ID EX ME WB",
        &|a| {
            a.op(Op::Jalr, 0, 31, 0, 0);
            while a.here() < 34 {
                a.half(1);
            }
        },
    );
    case(
        "single cycle: nothing waits",
        Core::preset("single-cycle").unwrap(),
        3,
        &[],
        "
 WB
 .  WB
 .  .  WB",
        &|a| {
            lw(a);
            a.op(x, 6, 5, 0, 1).op(Op::Beq, 0, 0, 0, 16);
        },
    );
    all
}

#[test]
fn every_hazard_is_as_drawn() {
    let cases = cases();
    assert!(cases.len() >= 40, "{}", cases.len());
    hold(&cases);
}
