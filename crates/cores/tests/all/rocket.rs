//! Hazards of a five-stage machine that replays loads, has an iterative unit and writes registers in order: the diagrams
//! are drawn by hand from what Rocket's RTL does.

use crate::common::Asm;
use crate::common::diagram::{Case, asm, hold, with};
use tollgate_cores::{Cause, Core, Timed};
use tollgate_riscv::Op;
use tollgate_riscv::cache::Policy;
use tollgate_riscv::{Code, Config, Machine, Step};

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
    // rtl: Rocket, store.load_same: 5 more than without the store. The load is fetched again from cycle 6 on, and what is behind
    // it in 7.
    case(
        "replay: a load of what the store before it writes",
        rocket(),
        3,
        &[(Cause::LoadUse, 5)],
        "
 IF ID EX ME WB
 .  IF ID ID ID ID ID ID EX ME WB
 .  .  .  .  .  .  .  IF ID EX ME WB",
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

const RAM: u64 = 0x8000_0000;

/// The cycles between the retirements of a program's instructions, which is at the start of RAM; with its code known or not.
fn cycles(core: &Core, program: &[u8], steps: usize, known: bool) -> Vec<u64> {
    let mut machine = Machine::new(Config::default()).unwrap();
    machine.write_memory(RAM, program).unwrap();
    let code = Code::new("rv64gc".parse().unwrap(), vec![(RAM, program.to_vec())]);
    let timed = Timed::new(core, (), ()).unwrap();
    let mut timed = if known { timed.with_code(&code) } else { timed };
    let mut before = 0;
    let mut all = Vec::new();
    // A program that does nothing but trap must not run for ever.
    for _ in 0..2 * steps {
        if all.len() < steps && timed.step(&mut machine) == Step::Retired {
            all.push(timed.cycles() - before);
            before = timed.cycles();
        }
    }
    assert_eq!(all.len(), steps, "the program traps instead of retiring");
    all
}

#[test]
fn a_line_is_filled_while_a_store_waits_for_another() {
    // The store is the last but two of its line: it waits for memory (20 cycles, and 13), and so does the fetch of the line
    // behind it, which is missed in the same cycle and comes first (13 cycles), as in fp-eager in
    // guests/riscv/golden/rocket-traps.golden.
    let mut core = Core::preset("rocket").unwrap();
    core.memory.latency = 20;
    let mut a = Asm::default();
    a.op(Op::Auipc, 5, 0, 0, 0x1000);
    for _ in 1..13 {
        a.op(Op::Addi, 6, 6, 0, 1);
    }
    a.op(Op::Sd, 0, 5, 6, 0);
    for _ in 0..4 {
        a.op(Op::Addi, 6, 6, 0, 1);
    }
    let all = cycles(&core, &a.0, 18, true);
    assert_eq!(all[13], 1 + 20 + 13 + 13, "{all:?}");
    assert_eq!(all[16], 1, "{all:?}");
}

#[test]
fn a_load_that_is_replayed_waits_for_the_store_if_what_is_behind_it_also_reads() {
    // The store could be written in the two cycles behind the load's EX. If loads are there, it is written in the cycle in
    // which the replayed load comes to the cache again, as in caller and store.save_and_restore in
    // guests/riscv/golden/rocket-traps.golden and rocket-kernels.golden.
    let mut core = Core::preset("rocket").unwrap();
    (core.l1i, core.l1d, core.itlb, core.dtlb) = (None, None, None, None);
    let replayed = |behind: [Op; 2]| {
        let mut a = Asm::default();
        a.op(Op::Auipc, 5, 0, 0, 0x1000).op(Op::Sd, 0, 5, 6, 0).op(Op::Ld, 7, 5, 0, 0);
        for (op, register) in behind.into_iter().zip(8..) {
            a.op(op, register, 5, 0, 8);
        }
        cycles(&core, &a.0, 5, true)[2]
    };
    assert_eq!(replayed([Op::Addi, Op::Addi]), 1 + 5);
    assert_eq!(replayed([Op::Ld, Op::Addi]), 1 + 5);
    assert_eq!(replayed([Op::Ld, Op::Ld]), 1 + 5 + 1);
}

#[test]
fn a_return_behind_a_load_that_is_replayed_takes_two_addresses() {
    // The load overlaps with the store before it. Until it is fetched again the front end has come to the return behind it,
    // and has taken the address of the only call: the second time it has no address.
    let mut core = Core::preset("rocket").unwrap();
    (core.l1i, core.l1d, core.itlb, core.dtlb) = (None, None, None, None);
    let last = |load: Op, known| {
        let mut a = Asm::default();
        a.op(Op::Auipc, 5, 0, 0, 0x1000).op(Op::Jal, 1, 0, 0, 8).op(Op::Addi, 6, 6, 0, 1);
        a.op(Op::Sd, 0, 5, 6, 0).op(load, 7, 5, 0, 0).op(Op::Jalr, 0, 1, 0, 0);
        cycles(&core, &a.0, 6, known)[5]
    };
    // The target buffer does not know the return, the return stack does: one bubble. Otherwise it is found in EX: three.
    assert_eq!(last(Op::Addi, true), 1 + 1);
    assert_eq!(last(Op::Ld, true), 1 + 3);
    // Where nothing is known of the code, the fetch does not run on.
    assert_eq!(last(Op::Ld, false), 1 + 1);
}

#[test]
fn accesses_behind_the_first_store_to_a_clean_line_come_again() {
    // The store writes the tags two cycles behind its EX, as in switch-space in guests/riscv/golden/rocket-traps.golden: an
    // access that is in MEM then, or in EX, is fetched again.
    let taken = |line: Op, between: usize, access: Op, tags: bool| {
        let mut core = Core::preset("rocket").unwrap();
        (core.l1i, core.itlb, core.dtlb, core.memory.tag_update) = (None, None, None, tags);
        let mut a = Asm::default();
        // The first access brings the line in; the product's latency holds the store until all of that is over.
        a.op(Op::Auipc, 5, 0, 0, 0x1000).op(line, if line == Op::Ld { 6 } else { 0 }, 5, 0, 0);
        a.op(Op::Mul, 7, 7, 7, 0).op(Op::Mul, 7, 7, 7, 0).op(Op::Sd, 0, 5, 7, 8);
        for _ in 0..between {
            a.op(Op::Addi, 8, 8, 0, 1);
        }
        a.op(access, if access == Op::Sd { 0 } else { 9 }, 5, 7, 16);
        cycles(&core, &a.0, 6 + between, true)[5 + between]
    };
    for access in [Op::Ld, Op::Sd] {
        let behind = |line, between| taken(line, between, access, true);
        assert_eq!([0, 1, 2].map(|between| behind(Op::Ld, between)), [1 + 5, 1 + 5, 1], "{access:?}");
        // A line that a store brought in is changed from the beginning.
        assert_eq!(behind(Op::Sd, 0), 1, "{access:?}");
        assert_eq!(taken(Op::Ld, 0, access, false), 1, "{access:?}");
    }
    // What is not an access does not see the tags.
    assert_eq!(taken(Op::Ld, 0, Op::Addi, true), 1);
}

#[test]
fn a_fetch_that_runs_on_behind_a_return_fills_a_line() {
    // mret at the end of a line: the front end has asked for the next line before it knows, so that it is there later.
    let mut core = Core::preset("rocket").unwrap();
    core.memory.latency = 20;
    let mut a = Asm::default();
    a.op(Op::Auipc, 5, 0, 0, 0).op(Op::Addi, 5, 5, 0, 0x80).csrw(0x341, 5);
    a.li(6, 0x1800).csrw(0x300, 6);
    while a.here() < 0x3c {
        a.op(Op::Addi, 7, 7, 0, 1);
    }
    a.op(Op::Mret, 0, 0, 0, 0);
    while a.here() < 0x80 {
        a.op(Op::Addi, 7, 7, 0, 1);
    }
    // Back to the line behind mret.
    a.op(Op::Jal, 0, 0, 0, -0x40);
    let steps = 18;
    let [known, unknown] = [true, false].map(|known| cycles(&core, &a.0, steps, known));
    assert!(unknown[steps - 1] > 30, "{unknown:?}");
    assert!(known[steps - 1] < 10, "{known:?}");
    // The line of the jump waits for the other one.
    assert!(known[steps - 2] > unknown[steps - 2] + 20, "{known:?} {unknown:?}");
}

#[test]
fn a_miss_waits_for_a_write_back_with_the_same_address_bits() {
    // Two lines of one set, of which the first is changed; both have the same lower 21 bits.
    let wait = |compare| {
        let mut core = Core::preset("rocket").unwrap();
        (core.memory.latency, core.memory.write_back_compare) = (100, compare);
        let l1d = core.l1d.as_mut().unwrap();
        (l1d.geometry, l1d.replacement) = ("64:1:64".into(), Policy::Lru);
        let mut a = Asm::default();
        a.op(Op::Auipc, 5, 0, 0, 0x1000).op(Op::Lui, 6, 0, 0, 0x20_0000).op(Op::Add, 6, 6, 5, 0);
        a.op(Op::Sd, 0, 5, 0, 0).op(Op::Ld, 7, 6, 0, 0);
        cycles(&core, &a.0, 5, true)[4]
    };
    // Without it, 16 cycles; with it, the answer of memory, as long as a miss.
    assert_eq!(wait(21) - wait(0), 100 + 13 - 16);
    assert_eq!(wait(22) - wait(0), 0);
}

/// Rocket with memory at 20 cycles.
fn near_memory() -> Core {
    with(Core::preset("rocket").unwrap(), |c| (c.itlb, c.dtlb, c.memory.latency) = (None, None, 20))
}

#[test]
fn a_front_end_asks_for_a_line_every_other_cycle() {
    // rtl: Rocket, cache.long_code: behind the line before, it asks again from the cycle in which the last instruction there is in
    // MEM, which is a cycle behind the miss.
    let behind = |line: &dyn Fn(&mut Asm), steps: usize, latency: u32| {
        let mut a = Asm::default();
        line(&mut a);
        for _ in 0..4 {
            a.op(Op::Addi, 6, 6, 0, 1);
        }
        let taken = [0, 2].map(|step| {
            let core =
                with(near_memory(), |c| (c.memory.latency, c.memory.fetch_miss_step) = (latency, step));
            cycles(&core, &a.0, steps + 1, true)[steps]
        });
        taken[1] - taken[0]
    };
    let sequence = |a: &mut Asm| {
        for _ in 0..16 {
            a.op(Op::Addi, 6, 6, 0, 1);
        }
    };
    assert_eq!([20, 21].map(|latency| behind(&sequence, 16, latency)), [1, 0]);
    // Behind a jump from the cycle of the miss.
    let jump = |a: &mut Asm| {
        a.op(Op::Jal, 0, 0, 0, 64);
        while a.here() < 64 {
            a.op(Op::Addi, 6, 6, 0, 1);
        }
    };
    assert_eq!([20, 21].map(|latency| behind(&jump, 1, latency)), [0, 1]);
}

#[test]
fn lines_of_both_caches_come_one_behind_the_other() {
    // A store some words before the end of its line misses, and so does the fetch of the next line. By how many cycles the store
    // and the first instruction there are later than with a port each.
    let later = |words: usize| {
        let mut a = Asm::default();
        a.op(Op::Auipc, 5, 0, 0, 0x1000);
        while a.here() < 64 - 4 * words as u64 {
            a.op(Op::Addi, 6, 6, 0, 1);
        }
        a.op(Op::Sd, 0, 5, 6, 0);
        while a.here() < 80 {
            a.op(Op::Addi, 6, 6, 0, 1);
        }
        let store = 16 - words;
        let [each, shared] = [0, 8].map(|words| {
            let core = with(near_memory(), |c| c.memory.line_words = words);
            let all = cycles(&core, &a.0, 18, true);
            [all[store], all[..17].iter().sum()]
        });
        [shared[0] - each[0], shared[1] - each[1]]
    };
    // Four words before, the fetch misses a cycle behind the store, and no line waits.
    assert_eq!(later(4), [0, 0]);
    // rtl: fp-eager, 270: both in the same cycle. The store is replayed, and its line comes behind the other one, which an
    // instruction would have waited for until 5 cycles behind the store's.
    assert_eq!(later(3), [6 + 7, 6 + 7 - 5]);
    // rtl: fp-eager, 1b0: the fetch misses a cycle before the store, whose request the hub takes a cycle later; its line is first.
    assert_eq!(later(2), [1, 5]);
    // Two cycles before, memory has the store's request first; the front end sees its line a cycle later still.
    assert_eq!(later(1), [0, 5 + 1]);
}

#[test]
fn an_access_is_replayed_while_the_data_cache_is_asked_for_a_line() {
    // The fetch misses the line behind when the instruction before the last three is in EX. Three cycles later the data cache is
    // asked for the line, and first ends the accesses that have begun. rtl: fp-eager, 2b6.
    let later = |loads: &[u64]| {
        let mut a = Asm::default();
        a.op(Op::Auipc, 5, 0, 0, 0x1000).op(Op::Ld, 8, 5, 0, 0);
        a.op(Op::Mul, 7, 6, 6, 0).op(Op::Addi, 7, 7, 0, 1);
        while a.here() < 80 {
            match loads.contains(&(a.here() / 4)) {
                // A load waits for the one before, which writes the same register.
                true => a.op(Op::Ld, 9, 5, 0, 8),
                false => a.op(Op::Addi, 6, 6, 0, 1),
            };
        }
        let [each, shared] = [0, 8].map(|words| {
            let core = with(near_memory(), |c| c.memory.line_words = words);
            cycles(&core, &a.0, 18, true)
        });
        [14, 15, 16].map(|at| shared[at] as i64 - each[at] as i64)
    };
    assert_eq!(later(&[12]), [0, 0, 0]);
    // In EX a cycle behind the miss: the line comes a cycle later, which is when the front end asks anyway; and two cycles.
    assert_eq!(later(&[14]), [0, 0, 0]);
    assert_eq!(later(&[15]), [0, 0, 2]);
    // The second one in EX three cycles behind the miss is replayed, and waits for the line less.
    assert_eq!(later(&[14, 15]), [0, 5, -4]);
}

/// What the instruction behind a return takes, which ends a program of so many steps: one bubble where the return stack knows the
/// target and the target buffer does not know the return, three where something else is on top, or nothing.
fn behind_return(program: &dyn Fn(&mut Asm), steps: usize, known: bool) -> u64 {
    let core = with(Core::preset("rocket").unwrap(), |c| {
        (c.l1i, c.l1d, c.itlb, c.dtlb) = (None, None, None, None);
    });
    let mut a = Asm::default();
    program(&mut a);
    cycles(&core, &a.0, steps, known)[steps - 1]
}

#[test]
fn a_return_on_a_mispredicted_path_pops_what_a_call_has_pushed() {
    // rtl: Rocket, direct: nothing takes back what the front end has done before it is redirected.
    let program = |a: &mut Asm| {
        a.op(Op::Jal, 1, 0, 0, 12).op(Op::Addi, 6, 6, 0, 1).op(Op::Addi, 6, 6, 0, 1);
        // Taken, against the prediction: behind it is a return.
        a.op(Op::Beq, 0, 0, 0, 8).op(Op::Jalr, 0, 1, 0, 0).op(Op::Addi, 7, 7, 0, 1).op(Op::Jalr, 0, 1, 0, 0);
    };
    assert_eq!([false, true].map(|known| behind_return(&program, 5, known)), [1 + 1, 1 + 3]);
}

#[test]
fn a_call_on_a_mispredicted_path_pushes() {
    let program = |a: &mut Asm| {
        a.op(Op::Jal, 1, 0, 0, 12).op(Op::Addi, 6, 6, 0, 1).op(Op::Addi, 6, 6, 0, 1);
        a.op(Op::Beq, 0, 0, 0, 8).op(Op::Jal, 1, 0, 0, 0x40);
        a.op(Op::Addi, 7, 7, 0, 1).op(Op::Jalr, 0, 1, 0, 0);
    };
    assert_eq!([false, true].map(|known| behind_return(&program, 5, known)), [1 + 1, 1 + 3]);
}

#[test]
fn a_return_that_is_mispredicted_pops_again_where_it_was_predicted_to_go() {
    // rtl: Rocket, jump.calls_9_deep. The inner function goes back to the outer one's end; it was predicted to go back behind the
    // call, where there is another return.
    let program = |a: &mut Asm| {
        a.op(Op::Jal, 1, 0, 0, 12).op(Op::Addi, 6, 6, 0, 1).op(Op::Addi, 6, 6, 0, 1);
        a.op(Op::Addi, 8, 1, 0, 0).op(Op::Jal, 1, 0, 0, 20).op(Op::Jalr, 0, 8, 0, 0);
        a.op(Op::Addi, 1, 8, 0, 0).op(Op::Jalr, 0, 1, 0, 0).op(Op::Addi, 6, 6, 0, 1);
        a.op(Op::Addi, 1, 1, 0, 4).op(Op::Jalr, 0, 1, 0, 0);
    };
    let pops = |a: &mut Asm| {
        program(a);
        // c.jr ra, where the inner function's return is predicted to go.
        a.0[0x14..0x18].copy_from_slice(&[0x82, 0x80, 0x82, 0x80]);
    };
    assert_eq!([false, true].map(|known| behind_return(&pops, 8, known)), [1 + 1, 1 + 3]);
    // Behind a jump through another register nothing is popped.
    assert_eq!([false, true].map(|known| behind_return(&program, 8, known)), [1 + 1, 1 + 1]);
}

#[test]
fn a_path_behind_a_jump_of_which_nothing_is_known_leaves_no_mark() {
    let program = |a: &mut Asm| {
        a.op(Op::Jal, 1, 0, 0, 12).op(Op::Addi, 6, 6, 0, 1).op(Op::Addi, 6, 6, 0, 1);
        a.op(Op::Auipc, 8, 0, 0, 0).op(Op::Jalr, 0, 8, 0, 28);
        while a.here() < 0x28 {
            a.op(Op::Jalr, 0, 1, 0, 0);
        }
        a.op(Op::Addi, 7, 7, 0, 1).op(Op::Jalr, 0, 1, 0, 0);
    };
    assert_eq!([false, true].map(|known| behind_return(&program, 6, known)), [1 + 1, 1 + 1]);
}
