//! Hazards of machines with one or two stages, and of a five-stage machine that computes in MEM and stores behind the
//! pipe: the diagrams are drawn by hand from what the RTL of Ibex, PicoRV32 and VexRiscv does.

use crate::common::Asm;
use crate::common::diagram::{Case, asm, hold, ripes, vexriscv, with};
use tollgate_cores::{Cause, Core, Operation};
use tollgate_riscv::Op;

const MTVEC: i64 = 0x305;
const MSCRATCH: i64 = 0x340;
const MSTATUS: i64 = 0x300;
const MIE: i64 = 0x304;
const MIP: i64 = 0x344;

fn cases() -> Vec<Case> {
    let lw = |a: &mut Asm| {
        a.op(Op::Lw, 5, 3, 0, 0);
    };
    let mut all = Vec::new();
    let mut case = |name, core, steps, charges: &[(Cause, u64)], diagram, f: &dyn Fn(&mut Asm)| {
        all.push(Case { name, core, program: asm(f), steps, diagram, charges: charges.to_vec() });
    };
    let x = Op::Addi;

    case(
        "two stages: load waits for its answer",
        with(Core::preset("ibex").unwrap(), |_| ()),
        2,
        &[(Cause::Structural, 1)],
        "
 IF WB WB
 .  IF IF WB",
        &|a| {
            lw(a);
            a.op(x, 6, 5, 0, 1);
        },
    );
    case(
        "two stages: taken branch",
        Core::preset("ibex").unwrap(),
        2,
        &[(Cause::Branch, 2)],
        "
 IF WB WB
 .  .  .  IF WB",
        &|a| {
            a.op(Op::Beq, 0, 0, 0, 16);
        },
    );
    // rtl: Ibex, branch.taken_to_next: three cycles each.
    case(
        "two stages: taken branch to the next instruction",
        Core::preset("ibex").unwrap(),
        2,
        &[(Cause::Branch, 2)],
        "
 IF WB WB
 .  .  .  IF WB",
        &|a| {
            a.op(Op::Beq, 0, 0, 0, 4);
        },
    );
    // rtl: Ibex, jump.forward: the target is fetched while the jump is in its second cycle.
    case(
        "two stages: jump",
        Core::preset("ibex").unwrap(),
        2,
        &[(Cause::Branch, 1)],
        "
 IF WB WB
 .  IF IF WB",
        &|a| {
            a.op(Op::Jal, 0, 0, 0, 16);
        },
    );
    case(
        "two stages: trap",
        Core::preset("ibex").unwrap(),
        3,
        &[(Cause::TrapFlush, 3)],
        "
 IF WB
x.  IF WB
 .  .  .  .  IF WB",
        &|a| {
            a.csrw(MTVEC, 30).op(Op::Ecall, 0, 0, 0, 0);
        },
    );
    // The bus answers that there is no memory: then the load traps.
    case(
        "two stages: trap of a load that went to memory",
        Core::preset("ibex").unwrap(),
        3,
        &[(Cause::TrapFlush, 3), (Cause::Structural, 1)],
        "
 IF WB
x.  IF WB WB
 .  .  .  .  .  IF WB",
        &|a| {
            a.csrw(MTVEC, 30).op(Op::Lw, 5, 0, 0, 0x700);
        },
    );
    case(
        "two stages: load from two words",
        Core::preset("ibex").unwrap(),
        2,
        &[(Cause::Structural, 2)],
        "
 IF WB WB WB
 .  IF IF IF WB",
        &|a| {
            a.op(Op::Lw, 5, 3, 0, 2);
        },
    );
    case(
        "two stages: load from the middle of a word",
        Core::preset("ibex").unwrap(),
        2,
        &[(Cause::Structural, 1)],
        "
 IF WB WB
 .  IF IF WB",
        &|a| {
            a.op(Op::Lh, 5, 3, 0, 1);
        },
    );
    case(
        "two stages: load that is wider than the port",
        Core::preset("ibex").unwrap(),
        2,
        &[(Cause::Structural, 2)],
        "
 IF WB WB WB
 .  IF IF IF WB",
        &|a| {
            a.op(Op::Ld, 5, 3, 0, 8);
        },
    );
    case(
        "two stages: CSR write that flushes, and one that does not",
        Core::preset("ibex").unwrap(),
        4,
        &[(Cause::Csr, 2)],
        "
 IF WB
 .  IF WB
 .  .  .  .  IF WB
 .  .  .  .  .  IF WB",
        &|a| {
            a.csrw(MSCRATCH, 3).csrw(MIE, 0).op(Op::Csrrci, 0, 8, 0, MSTATUS);
        },
    );
    case(
        "two stages: wait for an interrupt that is pending",
        Core::preset("ibex").unwrap(),
        4,
        &[(Cause::Csr, 2 + 4)],
        "
 IF WB
 .  .  .  IF WB
 .  .  .  .  IF WB
 .  .  .  .  .  .  .  .  .  IF WB",
        &|a| {
            // Interrupts stay disabled: only mie and mip count.
            a.op(Op::Csrrsi, 0, 2, 0, MIE).op(Op::Csrrsi, 0, 2, 0, MIP).op(Op::Wfi, 0, 0, 0, 0);
        },
    );
    case(
        "two stages: division by zero, and by something else",
        with(Core::preset("ibex").unwrap(), |c| c.operation.divide.cycles = 4),
        2,
        &[(Cause::LongOperation, 1 + 3)],
        "
 IF WB WB
 .  IF IF WB WB WB WB",
        &|a| {
            a.op(Op::Divu, 5, 3, 0, 0).op(Op::Divu, 5, 3, 3, 0);
        },
    );
    case(
        "two stages: product, and its upper half",
        with(Core::preset("ibex").unwrap(), |c| c.operation.multiply.cycles = 2),
        2,
        &[(Cause::LongOperation, 1 + 3)],
        "
 IF WB WB
 .  IF IF WB WB WB WB",
        &|a| {
            a.op(Op::Mul, 5, 3, 3, 0).op(Op::Mulhu, 5, 3, 3, 0);
        },
    );
    // rtl: VexRiscv, div.dependent: one bubble more than the division itself takes.
    case(
        "divider whose result comes late",
        with(ripes(), |c| (c.operation.divide.cycles, c.operation.divide.use_) = (3, 1)),
        3,
        &[(Cause::LongOperation, 3)],
        "
 IF ID EX EX EX ME WB
 .  IF ID ID ID ID EX ME WB
 .  .  IF IF IF IF ID EX ME WB",
        &|a| {
            a.op(Op::Div, 5, 3, 3, 0).op(x, 6, 5, 0, 1).op(x, 7, 0, 0, 1);
        },
    );
    case(
        "divider in MEM, use, other",
        with(ripes(), |c| {
            c.operation.divide =
                Operation { cycles: 3, use_: 1, late: true, by_zero: 2, ..Operation::default() };
        }),
        3,
        &[(Cause::LongOperation, 3)],
        "
 IF ID EX ME ME ME WB
 .  IF ID ID ID ID EX ME WB
 .  .  IF IF IF IF ID EX ME WB",
        &|a| {
            a.op(Op::Div, 5, 3, 3, 0).op(x, 6, 5, 0, 1).op(x, 7, 0, 0, 1);
        },
    );
    case(
        "divider in MEM, by zero, other",
        with(ripes(), |c| {
            c.operation.divide =
                Operation { cycles: 3, use_: 1, late: true, by_zero: 2, ..Operation::default() };
        }),
        2,
        &[(Cause::LongOperation, 1)],
        "
 IF ID EX ME ME WB
 .  IF ID EX EX ME WB",
        &|a| {
            a.op(Op::Div, 5, 3, 0, 0).op(x, 7, 0, 0, 1);
        },
    );
    // rtl: VexRiscv, store.load_same: it is fetched again, five cycles more, directly behind the store and one behind that; and
    // store.byte_load_next_byte: none.
    let redoing = vexriscv;
    case(
        "load of what a store is writing",
        redoing(),
        2,
        &[(Cause::LoadUse, 5)],
        "
 IF ID EX ME WB
 .  IF ID ID ID ID ID ID EX ME WB",
        &|a| {
            a.op(Op::Sw, 0, 3, 0, 4).op(Op::Lb, 5, 3, 0, 5);
        },
    );
    case(
        "load of what a store writes next to last",
        redoing(),
        3,
        &[(Cause::LoadUse, 5)],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB
 .  .  IF ID ID ID ID ID ID EX ME WB",
        &|a| {
            a.op(Op::Sb, 0, 3, 0, 4).op(x, 6, 0, 0, 1).op(Op::Lw, 5, 3, 0, 4);
        },
    );
    case(
        "load of what a store has written, load beside a store",
        redoing(),
        5,
        &[],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB
 .  .  IF ID EX ME WB
 .  .  .  IF ID EX ME WB
 .  .  .  .  IF ID EX ME WB",
        &|a| {
            a.op(Op::Sb, 0, 3, 0, 4).op(x, 6, 0, 0, 1).op(x, 6, 0, 0, 1).op(Op::Lb, 5, 3, 0, 4);
            a.op(Op::Lb, 5, 3, 0, 5);
        },
    );
    // rtl: VexRiscv, store.words: each store takes the bus latency + 1 cycles, and one waits behind the pipe.
    let port = || with(vexriscv(), |c| (c.memory.latency, c.memory.store_slots) = (2, 2));
    case(
        "stores that wait for the bus",
        port(),
        4,
        &[(Cause::Structural, 2)],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB
 .  .  IF ID EX ME ME ME WB
 .  .  .  IF ID EX ME ME ME WB",
        &|a| {
            a.op(Op::Sw, 0, 3, 0, 0).op(Op::Sw, 0, 3, 0, 4).op(Op::Sw, 0, 3, 0, 8).op(x, 6, 0, 0, 1);
        },
    );
    case(
        "load behind a fence behind a store",
        port(),
        3,
        &[(Cause::Structural, 3)],
        "
 IF ID EX ME WB
 .  IF ID EX ME WB
 .  .  IF ID EX ME ME ME ME WB",
        &|a| {
            a.op(Op::Sw, 0, 3, 0, 0).op(Op::Fence, 0, 0, 0, 0).op(Op::Lw, 5, 3, 0, 8);
        },
    );
    // The states of PicoRV32, each a cycle: fetch, ld_rs1, and exec, ldmem or stmem; a branch that is taken fetches
    // again.
    let serial = || {
        let toml = "[pipeline]\nkind = 'multi-cycle'\nload-use = 0
            [operation]
            arithmetic = { cycles = 3 }
            load = { cycles = 5 }
            shift = { cycles = 4, step = 4 }
            [branch]\nsettle = 2";
        Core::from_toml(toml).unwrap()
    };
    case(
        "many cycles: arithmetic, load, arithmetic",
        serial(),
        3,
        &[(Cause::Structural, 2 + 4 + 2)],
        "
 WB WB WB
 .  .  .  WB WB WB WB WB
 .  .  .  .  .  .  .  .  WB WB WB",
        &|a| {
            a.op(x, 5, 0, 0, 1).op(Op::Lw, 6, 3, 0, 0).op(x, 7, 6, 0, 1);
        },
    );
    case(
        "many cycles: branch not taken, branch taken",
        serial(),
        3,
        &[(Cause::Structural, 2 + 2 + 2), (Cause::Branch, 2)],
        "
 WB WB WB
 .  .  .  WB WB WB WB WB
 .  .  .  .  .  .  .  .  WB WB WB",
        &|a| {
            a.op(Op::Bne, 0, 0, 0, 16).op(Op::Beq, 0, 0, 0, 16);
        },
    );
    // Six places: four at once, then one and one. The upper bits of the amount do not count.
    case(
        "many cycles: shift by a constant, shift by a register",
        with(serial(), |c| c.operation.arithmetic.cycles = 1),
        3,
        &[(Cause::LongOperation, 2 * (3 + 3))],
        "
 WB WB WB WB WB WB WB
 .  .  .  .  .  .  .  WB
 .  .  .  .  .  .  .  .  WB WB WB WB WB WB WB",
        &|a| {
            a.op(Op::Slli, 5, 3, 0, 6).op(x, 6, 0, 0, 64 + 6).op(Op::Srl, 5, 3, 6, 0);
        },
    );
    all
}

#[test]
fn every_hazard_is_as_drawn() {
    hold(&cases());
}
