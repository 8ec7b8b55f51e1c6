//! What observers of blocks receive of translated code, against what they receive of interpreted code.

use std::collections::BTreeSet;

use crate::common::{
    self,
    random::{self, BASE, Mode},
};
use crate::common::{Asm, Rng};
use crate::translated::{self, translate};
use tollgate_cores::{ByPrivilege, Core, Timed};
use tollgate_riscv::{Access, Class, Machine, Observer, Op, Retired, Several, Stop, Touch, Trap, Walk};

const RV64: &str = "rv64gc_zba_zbb_zbs";
const RV32: &str = "rv32gc_zba_zbb_zbs";

fn machine(isa: &str, image: &[u8]) -> Machine {
    translated::machine(isa, image)
}

/// Everything that there is to see, in a form that does not depend on where one run ends and the next begins.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    /// Where each instruction is and where the next one is.
    retired: Vec<[u64; 2]>,
    /// The address, the physical address, and whether it stored.
    accesses: Vec<(u64, u64, bool)>,
    operands: Vec<[u64; 2]>,
    /// Traps, behind so many instructions.
    traps: Vec<(usize, Trap)>,
    /// The entries of the tables for each page: a walk may be reported more than once.
    walks: BTreeSet<(u64, Vec<u64>)>,
}

impl Observer for Seen {
    const MEMORY: bool = true;
    const TRAP: bool = true;
    const BLOCKS: bool = true;
    const WALK: bool = true;

    fn operands(&self) -> bool {
        true
    }

    fn several(&mut self, several: &Several) {
        assert_eq!(several.retired, self.retired.len() as u64);
        for pass in several.passes {
            assert!(!several.insns(pass).is_empty());
            for (insn, place) in several.insns(pass).iter().zip(pass.start()..) {
                self.retired.push([several.outside(insn.pc), several.next_pc(pass, place)]);
            }
            if let (Some(last), Some([_, next])) = (several.insns(pass).last(), self.retired.last()) {
                let jumps = matches!(last.insn.row().class, Class::Branch | Class::JumpReg);
                assert_eq!(
                    pass.taken(),
                    jumps && *next != several.outside(last.pc) + u64::from(last.insn.len)
                );
            }
        }
        let access = |touch: &Touch| (several.outside(touch.va), touch.pa(), touch.store());
        self.accesses.extend(several.accesses.iter().map(access));
        self.operands.extend(several.operands);
    }

    fn retire(&mut self, retired: &Retired) {
        self.retired.push([retired.pc, retired.next_pc]);
        if retired.insn.op.by_operands() {
            self.operands.push(retired.operands);
        }
    }

    fn access(&mut self, access: &Access) {
        self.accesses.push((access.va, access.pa, access.store));
    }

    fn walk(&mut self, walk: &Walk) {
        self.walks.insert((walk.va >> 12, walk.entries().to_vec()));
    }

    fn trap(&mut self, trap: &Trap) {
        self.traps.push((self.retired.len(), *trap));
    }
}

#[test]
fn runs_accesses_and_operands_are_those_of_the_interpreter() {
    for seed in common::seeds(2) {
        for (isa, mode) in [
            (RV64, Mode::Machine),
            (RV64, Mode::Sv39),
            (RV64, Mode::Sv48),
            (RV32, Mode::Machine),
            (RV32, Mode::Sv32),
        ] {
            let what = format!("seed {seed}, {isa}, {mode:?}");
            let mut rng = Rng(seed);
            let image = random::program(&mut rng, isa.parse().unwrap(), mode, 300);
            let (mut plain, mut fast) = (machine(isa, &image), machine(isa, &image));
            let translated = translate(&mut fast, 1 + rng.below(60));
            let (mut expected, mut seen) = (Seen::default(), Seen::default());
            loop {
                if rng.below(3) == 0 {
                    // Decoded code is dropped: instructions have other places from then on.
                    for machine in [&mut plain, &mut fast] {
                        machine.write_memory(BASE + (1 << 20) - 1, &[0]).unwrap();
                    }
                }
                let budget = 1 + rng.below(5_000);
                let stop = plain.run(budget, &mut expected);
                assert_eq!(fast.run(budget, &mut seen), stop, "{what}");
                assert_eq!(seen.retired.len() as u64, fast.instret(), "{what}");
                let differs =
                    seen.retired.iter().zip(&expected.retired).position(|(one, other)| one != other);
                assert_eq!(differs, None, "{what}");
                assert!(seen == expected, "{what}, after {} instructions", fast.instret());
                if stop != Stop::Budget {
                    assert_eq!(stop, Stop::Exit { code: 0 });
                    break;
                }
            }
            let (translated, retired) = (translated.retired.get(), fast.instret());
            assert!(translated > retired / 8, "{translated} of {retired}, {what}");
        }
    }
}

#[test]
fn cycles_and_ledger_are_those_of_interpreted_code() {
    let bench = Core::from_toml(include_str!("../../../cores/examples/bench.toml")).unwrap();
    let cores = [bench, Core::preset("rocket").unwrap(), Core::preset("cva6").unwrap()];
    for (seed, core) in common::seeds(1).flat_map(|seed| (64 * seed..).zip(&cores)) {
        for (isa, mode) in [
            ("rv64gc", Mode::Machine),
            ("rv64gc", Mode::Sv39),
            ("rv32gc", Mode::Machine),
            ("rv32gc", Mode::Sv32),
        ] {
            let what = format!("seed {seed}, {isa}, {mode:?}, {}", core.name);
            let mut rng = Rng(seed);
            let image = random::program(&mut rng, isa.parse().unwrap(), mode, 300);
            let (mut plain, mut fast) = (machine(isa, &image), machine(isa, &image));
            let translated = translate(&mut fast, 1 + rng.below(60));
            let [mut expected, mut timed] = [0; 2].map(|_| Timed::new(core, ByPrivilege, ()).unwrap());
            loop {
                let budget = 1 + rng.below(5_000);
                let stop = plain.run(budget, &mut expected);
                assert_eq!(fast.run(budget, &mut timed), stop, "{what}");
                let at = format!("{what}, after {} instructions", fast.instret());
                assert_eq!(timed.cycles(), expected.cycles(), "{at}");
                assert_eq!(timed.ledger(), expected.ledger(), "{at}");
                assert_eq!(timed.counts(), expected.counts(), "{at}");
                if stop != Stop::Budget {
                    break;
                }
            }
            assert!(translated.retired.get() > fast.instret() / 8, "{what}");
        }
    }
}

/// A loop of 1,000 instructions, which is in several blocks, and fills the log more than once in a round: the observer receives all of it without a return to the
/// engine.
#[test]
fn a_full_log_is_reported_on_the_way() {
    let mut asm = Asm::default();
    asm.li(9, 1_000);
    let top = asm.0.len() as i64;
    for _ in 0..499 {
        asm.op(Op::Addi, 10, 10, 0, 1).op(Op::Sd, 0, 8, 10, 0);
    }
    asm.op(Op::Addi, 9, 9, 0, -1);
    let at = asm.0.len() as i64;
    asm.op(Op::Bne, 0, 9, 0, top - at);
    asm.op(Op::Jal, 0, 0, 0, 0);
    let mut machine = machine(RV64, &asm.0);
    machine.set_x(8, BASE + 0x8000);
    let translated = translate(&mut machine, 100);
    let mut seen = Seen::default();
    let before = asm.0.len() as u64 / 4 - 1001;
    let all = before + 1_000_000;
    assert_eq!(machine.run(all, &mut seen), Stop::Budget);
    assert_eq!((seen.retired.len() as u64, seen.accesses.len()), (all, 499_000));
    assert_eq!(machine.x(10), 499_000);
    assert!(translated.retired.get() > 900_000, "{}", translated.retired.get());
    assert!(translated.entered.get() < 1_000, "{}", translated.entered.get());
}

/// Observers see values of RV32 without the sign-extension that registers have.
#[test]
fn operands_and_addresses_have_the_width_of_the_registers() {
    const ROUNDS: usize = 3_000;
    for (isa, operand) in [(RV64, -5_i64 as u64), (RV32, 0xffff_fffb)] {
        let mut asm = Asm::default();
        asm.op(Op::Auipc, 8, 0, 0, 0x1000).li(9, ROUNDS as i32).li(10, -5).li(11, 7);
        let top = asm.0.len() as i64;
        asm.op(Op::Mul, 12, 10, 11, 0).op(Op::Sw, 0, 8, 12, 4).op(Op::Addi, 9, 9, 0, -1);
        let at = asm.0.len() as i64;
        asm.op(Op::Bne, 0, 9, 0, top - at).op(Op::Jal, 0, 0, 0, 0);
        let mut machine = machine(isa, &asm.0);
        let translated = translate(&mut machine, 10);
        let mut seen = Seen::default();
        assert_eq!(machine.run(7 + 4 * ROUNDS as u64, &mut seen), Stop::Budget);
        assert!(translated.retired.get() > 3 * ROUNDS as u64, "{}", translated.retired.get());
        assert_eq!(seen.operands, [[operand, 7]; ROUNDS], "{isa}");
        assert_eq!(seen.accesses, [(BASE + 0x1004, BASE + 0x1004, true); ROUNDS], "{isa}");
    }
}
