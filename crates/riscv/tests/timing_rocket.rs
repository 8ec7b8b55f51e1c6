//! Hazards of a five-stage machine that replays loads, has an iterative unit and writes registers in order: the diagrams
//! are drawn by hand from what Rocket's RTL does.

mod common;

use common::Asm;
use common::diagram::{Case, asm, hold, with};
use tollgate_riscv::Op;
use tollgate_riscv::timing::{Cause, Core};

const MSCRATCH: i64 = 0x340;

fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let mut case = |name, core, steps, charges: &[(Cause, u64)], diagram, f: &dyn Fn(&mut Asm)| {
        all.push(Case { name, core, program: asm(f), steps, diagram, charges: charges.to_vec() });
    };
    let x = Op::Addi;
    let rocket = || {
        with(Core::preset("rocket").unwrap(), |c| {
            (c.l1i, c.l1d, c.itlb, c.dtlb) = (None, None, None, None);
        })
    };
    // rtl: Rocket, store.load_same: 5 more than without the store.
    case(
        "replay: a load of what the store before it writes",
        rocket(),
        3,
        &[(Cause::LoadUse, 5)],
        "
 IF ID EX ME WB
 .  IF ID ID ID ID ID ID EX ME WB
 .  .  IF IF IF IF IF IF ID EX ME WB",
        &|a| {
            a.op(Op::Sd, 0, 3, 0, 0).op(Op::Ld, 5, 3, 0, 0).op(x, 6, 0, 0, 1);
        },
    );
    // The store is written in the third cycle after its own EX, in which no load is in EX.
    case(
        "no replay: the store is written before",
        rocket(),
        4,
        &[],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB
 .  .  IF ID EX ME WB
 .  .  .  IF ID EX ME WB",
        &|a| {
            a.op(Op::Sd, 0, 3, 0, 0).op(x, 6, 0, 0, 1).op(x, 7, 0, 0, 1).op(Op::Ld, 5, 3, 0, 0);
        },
    );
    // rtl: Rocket, mul.small: the product of small numbers is used four cycles after EX.
    case(
        "iterative unit: a small product",
        rocket(),
        2,
        &[(Cause::LongOperation, 3)],
        "
 IF ID EX ME WB
 .  IF ID ID ID ID EX ME WB",
        &|a| {
            a.op(Op::Mul, 5, 0, 0, 0).op(x, 7, 5, 0, 1);
        },
    );
    // rtl: Rocket, mul.independent: 33 cycles, one more than the unit takes, since the result is there in the cycle in
    // which the instruction between them writes its own.
    case(
        "iterative unit: an instruction passes, and takes the register file's port",
        rocket(),
        3,
        &[(Cause::LongOperation, 3)],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB
 .  .  IF ID ID ID ID EX ME WB",
        &|a| {
            a.op(Op::Mul, 5, 0, 0, 0).op(x, 6, 0, 0, 1).op(x, 7, 5, 0, 1);
        },
    );
    // rtl: Rocket, csr.swap: two bubbles for the use, although nothing is read.
    case(
        "a result waits for the one before of its register",
        rocket(),
        2,
        &[(Cause::Csr, 2)],
        "
 IF ID EX ME WB
 .  IF ID ID ID EX ME WB",
        &|a| {
            a.op(Op::Csrrs, 5, 0, 0, MSCRATCH).op(Op::Lui, 5, 0, 0, 0x1000);
        },
    );
    // rtl: Rocket, fence.between_loads: four cycles from one access to the next.
    case(
        "fence between loads",
        rocket(),
        3,
        &[(Cause::Structural, 2)],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB
 .  .  IF ID ID ID EX ME WB",
        &|a| {
            a.op(Op::Ld, 5, 3, 0, 0).op(Op::Fence, 0, 0, 0, 0).op(Op::Ld, 6, 3, 0, 8);
        },
    );
    all
}

#[test]
fn every_hazard_is_as_drawn() {
    let cases = cases();
    assert_eq!(cases.len(), 6);
    hold(&cases);
}
