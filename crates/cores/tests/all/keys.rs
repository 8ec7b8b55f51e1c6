//! Keys of a core's file, each on a pipeline in which nothing else waits: what a key says is how many cycles more the
//! instructions take for which it is, and no others.

use crate::common::Asm;
use crate::common::diagram::asm;
use tollgate_cores::{Core, Operation, Timed};
use tollgate_riscv::{Config, Machine, Op};

const CODE: u64 = 0x8000_0000;
const DATA: u64 = CODE + 0x800;
const MSTATUS: i64 = 0x300;

/// The cycles of a program behind the switch that turns floating point on (mstatus.FS).
fn cycles(core: &Core, program: &dyn Fn(&mut Asm)) -> u64 {
    core.check().unwrap();
    let code = asm(|a| {
        a.op(Op::Lui, 5, 0, 0, 0x6000).op(Op::Csrrs, 0, 5, 0, MSTATUS);
        program(a);
    });
    let mut machine = Machine::new(Config::default()).unwrap();
    machine.write_memory(CODE, &code.0).unwrap();
    machine.set_x(3, DATA);
    machine.set_x(30, CODE + code.here());
    let mut timed = Timed::new(core, (), ()).unwrap();
    for _ in 0..code.here() / 4 {
        timed.step(&mut machine);
    }
    timed.cycles()
}

/// How many cycles more a program takes with a key than without.
fn more(key: impl Fn(&mut Core), program: &dyn Fn(&mut Asm)) -> u64 {
    let mut plain = Core::preset("ripes-5stage").unwrap();
    plain.branch.indirect = 0;
    let mut changed = plain.clone();
    key(&mut changed);
    cycles(&changed, program) - cycles(&plain, program)
}

/// Each operation is the only one of its kind, so that it occupies EX for the cycles of its key.
#[test]
fn an_operations_key_delays_its_instructions_and_no_others() {
    type Key = fn(&mut Core, Operation);
    let keys: [(&str, Key, &[Op]); 13] = [
        ("store", |c, it| c.operation.store = Some(it), &[Op::Sd]),
        ("branch", |c, it| c.operation.branch = Some(it), &[Op::Beq]),
        ("indirect", |c, it| c.operation.indirect = Some(it), &[Op::Jalr]),
        ("fence-i", |c, it| c.operation.fence_i = Some(it), &[Op::FenceI]),
        (
            "float",
            |c, it| c.operation.float = it,
            &[Op::FaddS, Op::FaddD, Op::FsgnjD, Op::FmvXD, Op::FcvtDL, Op::FcvtLD],
        ),
        ("float-multiply", |c, it| c.operation.float_multiply = it, &[Op::FmulS, Op::FmulD, Op::FmaddD]),
        ("float-divide", |c, it| c.operation.float_divide = it, &[Op::FdivS, Op::FdivD, Op::FsqrtD]),
        ("float-divide-single", |c, it| c.operation.float_divide_single = Some(it), &[Op::FdivS]),
        ("float-move", |c, it| c.operation.float_move = Some(it), &[Op::FmvXD, Op::FsgnjD]),
        ("float-convert", |c, it| c.operation.float_convert = Some(it), &[Op::FcvtDL, Op::FcvtLD]),
        ("double", |c, it| c.operation.double = Some(it), &[Op::FaddD, Op::FmulD, Op::FmaddD]),
        ("float-to-integer", |c, it| c.operation.float_to_integer = Some(it), &[Op::FmvXD, Op::FcvtLD]),
        ("atomic", |c, it| c.operation.atomic = it, &[Op::AmoaddD]),
    ];
    let mut all: Vec<Op> = keys.iter().flat_map(|(.., ops)| ops.iter().copied()).collect();
    all.extend([Op::Add, Op::Ld, Op::Fld, Op::Mul, Op::Div]);
    all.dedup();
    for (name, key, own) in keys {
        for &op in &all {
            let found = more(|core| key(core, Operation { cycles: 7, ..Operation::default() }), &|a| {
                // Of jalr, the target is the next instruction's address.
                let (rd, rs1, rs2) = if op == Op::Jalr { (0, 31, 0) } else { (6, 3, 7) };
                a.op(Op::Auipc, 31, 0, 0, 0).op(op, rd, rs1, rs2, if op == Op::Jalr { 8 } else { 0 });
                a.op(Op::Addi, 9, 0, 0, 0);
            });
            assert_eq!(found, if own.contains(&op) { 6 } else { 0 }, "{name} {op:?}");
        }
    }
}

/// A pipelined result is there so many cycles after EX: two more for an instruction that follows with one between.
#[test]
fn a_pipelined_operation_delays_only_what_uses_it() {
    let key = |core: &mut Core| {
        core.operation.float = Operation { cycles: 4, pipelined: true, ..Operation::default() };
    };
    let after = |op: Op, between: usize| {
        more(key, &|a| {
            a.op(Op::FaddD, 6, 0, 0, 0);
            (0..between).for_each(|_| {
                a.op(Op::Addi, 9, 0, 0, 0);
            });
            a.op(op, 7, 6, 6, 0);
        })
    };
    assert_eq!([0, 1, 2, 3, 4].map(|between| after(Op::FmulD, between)), [3, 2, 1, 0, 0]);
    assert_eq!(after(Op::Add, 0), 0, "integer registers have the same numbers");
}

#[test]
fn what_empties_something_has_bubbles_behind_it() {
    type Key = fn(&mut Core, u32);
    let keys: [(Op, Key); 2] =
        [(Op::SfenceVma, |c, n| c.system.sfence_vma = n), (Op::FenceI, |c, n| c.system.fence_i = n)];
    for (op, key) in keys {
        for other in [Op::SfenceVma, Op::FenceI, Op::Fence] {
            let program = |a: &mut Asm| {
                a.op(other, 0, 0, 0, 0).op(Op::Addi, 9, 0, 0, 0);
            };
            let [few, many] = [8, 13].map(|n| more(|core| key(core, n), &program));
            assert_eq!(many - few, if other == op { 5 } else { 0 }, "{op:?} {other:?}");
        }
    }
}
