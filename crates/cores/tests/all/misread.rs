//! The run path against the plain scoreboard where wrong paths misread words.

use crate::common::{self, Asm, Rng};
use tollgate_cores::{ByPrivilege, Core, Timed};
use tollgate_riscv::{Code, Config, Isa, Machine, MachineKind, Op, Stop};

const BASE: u64 = 0x8000_0000;
const BUDGET: u64 = 400_000;

/// A loop of short jumps and of branches that are often predicted wrong and known late, so that the fetch behind them fills its
/// queue. Instructions of two and of four bytes alternate: a jump in the target buffer is often compared with a word that
/// looks like the beginning of four bytes.
fn crossroads(rng: &mut Rng, passes: i32) -> Asm {
    let skip = |bytes: u16| 0xa001 | (bytes >> 1 & 7) << 3 | (bytes >> 4 & 1) << 11;
    let some = |rng: &mut Rng, least: u64| {
        let mut some = Asm::default();
        for _ in 0..least + rng.below(4) {
            match rng.below(2) {
                0 => some.op(Op::Addi, 11, 11, 0, 1),
                _ => some.half(0x0585),
            };
        }
        some.0
    };
    // The next bit, and perhaps a division that the branch waits for.
    let bit = |a: &mut Asm, rng: &mut Rng| {
        a.op(Op::Mul, 5, 5, 6, 0).op(Op::Addi, 5, 5, 0, 0x2b).op(Op::Srli, 10, 5, 0, 30);
        a.op(Op::Andi, 10, 10, 0, rng.pick(&[1, 3, 4]));
        if rng.below(2) == 0 {
            a.op(Op::Div, 10, 10, 7, 0);
        }
    };
    let mut a = Asm::default();
    // Functions that end in c.jr ra, perhaps behind a loop.
    let mut functions = Vec::new();
    for _ in 0..4 {
        let start = a.here() as i64 + 4;
        functions.push(start);
        a.0.extend(some(rng, 0));
        if rng.below(4) > 0 {
            bit(&mut a, rng);
            let back = start - 4 - a.here() as i64;
            a.op(rng.pick(&[Op::Beq, Op::Bne]), 0, 10, 0, back);
        }
        a.0.extend(some(rng, 0));
        a.half(0x8082);
    }
    let over = a.here() as i64 + 4;
    let mut image = Asm::default();
    image.op(Op::Jal, 0, 0, 0, over).0.extend(a.0);
    let mut a = image;
    a.li(29, passes).li(5, rng.next() as i32).li(6, 0x19_660d).op(Op::Addi, 7, 0, 0, 1);
    let start = a.here() as i64;
    for _ in 0..24 {
        let here = a.here() as i64;
        let behind = some(rng, 1);
        let over = behind.len() as u16;
        match rng.below(9) {
            0..3 => {
                bit(&mut a, rng);
                a.op(rng.pick(&[Op::Beq, Op::Bne]), 0, 10, 0, i64::from(over) + 4);
            }
            // A branch that is hardly ever taken, or always.
            3 => _ = a.op(rng.pick(&[Op::Beq, Op::Bne]), 0, 29, 0, i64::from(over) + 4),
            4 => _ = a.op(Op::Jal, 0, 0, 0, i64::from(over) + 4),
            5 => _ = a.op(Op::Jal, 1, 0, 0, rng.pick(&functions) - here),
            6 => _ = a.half(skip(over + 2)),
            // A loop with a jump in it.
            _ => {
                a.0.extend(some(rng, 0));
                bit(&mut a, rng);
                a.half(skip(over + 2)).0.extend(&behind);
                let back = here - a.here() as i64;
                a.op(rng.pick(&[Op::Beq, Op::Bne]), 0, 10, 0, back);
            }
        }
        a.0.extend(behind);
    }
    let back = start - 4 - a.here() as i64;
    a.op(Op::Addi, 29, 29, 0, -1).op(Op::Bne, 0, 29, 0, back);
    a.op(Op::Lui, 5, 0, 0, 0x10_0000).li(6, 0x5555).op(Op::Sw, 0, 5, 6, 0).op(Op::Jal, 0, 0, 0, 0);
    a
}

#[test]
fn wrong_paths_over_words_that_are_misread_are_timed_alike() {
    let isa: Isa = "rv64gc".parse().unwrap();
    let small = "name = 'small'
        base = 'rocket'
        branch.btb = 6
        branch.counters = 16
        l1i.geometry = '8:2:16'";
    let cores = [Core::preset("rocket").unwrap(), Core::from_toml(small).unwrap()];
    for seed in common::seeds(20) {
        let image = crossroads(&mut Rng(seed), 200).0;
        let machine = || {
            let mut machine =
                Machine::new(Config { isa, machine: MachineKind::Virt, ..Config::default() }).unwrap();
            machine.write_memory(BASE, &image).unwrap();
            machine
        };
        let code = Code::new(isa, vec![(BASE, image.clone())]);
        for core in &cores {
            let mut stepped = Timed::new(core, ByPrivilege, ()).unwrap().with_code(&code);
            assert_eq!(machine().run_reference(BUDGET, &mut stepped), Stop::Exit { code: 0 });
            let mut run = Timed::new(core, ByPrivilege, ()).unwrap().with_code(&code);
            assert_eq!(machine().run(BUDGET, &mut run), Stop::Exit { code: 0 });
            let what = format!("seed {seed}, {}", core.name);
            assert_eq!((stepped.cycles(), stepped.counts()), (run.cycles(), run.counts()), "{what}");
            assert_eq!(stepped.ledger(), run.ledger(), "ledger, {what}");
        }
    }
}
