//! Small programs beside the stage diagrams that belong to them.
#![allow(dead_code)]

use super::Asm;
use tollgate_cores::{Cause, Core, Passage, Stage, Timed};
use tollgate_riscv::{Config, Machine, Op};

pub(crate) const CODE: u64 = 0x8000_0000;
const DATA: u64 = CODE + 0x800;

/// Draws passages as the tests do.
pub(crate) fn draw(passages: &[Passage]) -> String {
    let mut rows = Vec::new();
    for p in passages {
        let mut row = String::from(if p.squashed.is_some() { "x" } else { " " });
        for cycle in 0..p.end {
            let entered = |s: &Stage| p.starts[*s as usize].is_some_and(|start| start <= cycle);
            let stage = Stage::ALL.iter().rev().find(|s| entered(s));
            let name = stage.map_or(".", |s| if *s == Stage::Memory { "ME" } else { s.name() });
            row.push_str(&format!("{name:<3}"));
        }
        rows.push(row.trim_end().to_string());
    }
    rows.join("\n")
}

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) core: Core,
    pub(crate) program: Asm,
    pub(crate) steps: u64,
    pub(crate) diagram: &'static str,
    /// What the ledger has besides `issue`.
    pub(crate) charges: Vec<(Cause, u64)>,
}

/// `x3` is an address in memory, `x30` the address of the ninth instruction, `x31` one in its middle; the rest of
/// the code is `addi x9, x0, 0`.
pub(crate) fn run(case: &Case, wrong: &mut Vec<String>) -> (u64, Vec<Passage>) {
    let mut m =
        Machine::new(Config { isa: "rv64gc".parse().unwrap(), misaligned: true, ..Config::default() })
            .unwrap();
    let mut code = case.program.clone();
    while code.here() < 0x200 {
        code.op(Op::Addi, 9, 0, 0, 0);
    }
    m.write_memory(CODE, &code.0).unwrap();
    // What `ld` loads at 8(x3) is an address, too.
    m.write_memory(DATA + 8, &DATA.to_le_bytes()).unwrap();
    m.set_x(3, DATA);
    m.set_x(30, CODE + 32);
    m.set_x(31, CODE + 34);
    let mut timed = Timed::new(&case.core, (), Vec::new()).unwrap();
    for _ in 0..case.steps {
        m.step(&mut timed);
    }
    let cycles = timed.cycles();
    let ledger = timed.ledger();
    assert_eq!(ledger.total(), cycles, "{}", case.name);
    for &cause in Cause::ALL {
        if cause != Cause::Issue {
            let wanted = case.charges.iter().find(|c| c.0 == cause).map_or(0, |c| c.1);
            let seen = ledger.of_cause(cause);
            if seen != wanted {
                wrong.push(format!("{}: {seen} for {}, and not {wanted}", case.name, cause.name()));
            }
        }
    }
    (cycles, timed.into_parts().2)
}

pub(crate) fn ripes() -> Core {
    Core::preset("ripes-5stage").unwrap()
}

/// VexRiscv without caches and translation buffers.
pub(crate) fn vexriscv() -> Core {
    with(Core::preset("vexriscv").unwrap(), |c| (c.l1i, c.l1d, c.itlb, c.dtlb) = (None, None, None, None))
}

pub(crate) fn with(core: Core, f: impl FnOnce(&mut Core)) -> Core {
    let mut core = core;
    f(&mut core);
    core.check().unwrap();
    core
}

pub(crate) fn asm(f: impl FnOnce(&mut Asm)) -> Asm {
    let mut a = Asm::default();
    f(&mut a);
    a
}

/// Every case takes the cycles, has the stalls and gives the diagram that were drawn for it.
pub(crate) fn hold(cases: &[Case]) {
    let mut wrong = Vec::new();
    for case in cases {
        let (cycles, passages) = run(case, &mut wrong);
        let drawn = case.diagram.trim_start_matches('\n');
        let seen = draw(&passages);
        let width = drawn.lines().map(|l| (l.trim_end().len() as u64 + 1) / 3).max().unwrap();
        if seen != drawn || cycles != width {
            wrong.push(format!("{} ({cycles} cycles)\n{drawn}\nbut is\n{seen}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
