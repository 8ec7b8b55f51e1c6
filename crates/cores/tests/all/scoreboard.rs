//! A core with a scoreboard: issue and commit of short programs, counted by hand from CVA6's RTL.

use crate::common::Asm;
use tollgate_cores::{Cause, Core, Passage, Timed};
use tollgate_riscv::{Code, Config, Isa, Machine, Op};

const CODE: u64 = 0x8000_0000;
const DATA: u64 = CODE + 0x1000;

/// CVA6 with caches in which everything hits, and memory that answers after 20 cycles.
fn core() -> Core {
    let mut core = Core::preset("cva6").unwrap();
    (core.l1i, core.l1d, core.memory.latency) = (None, None, 20);
    core
}

/// The passages of as many instructions; x3 is the address of data, x4 that of byte 0x80 of the program, and x29 M-mode as
/// mstatus has it.
fn passages(core: &Core, steps: usize, program: &dyn Fn(&mut Asm)) -> Vec<Passage> {
    passages_of(core, steps, false, program)
}

/// The same, of a core that knows the program's code from the start if `known`.
fn passages_of(core: &Core, steps: usize, known: bool, program: &dyn Fn(&mut Asm)) -> Vec<Passage> {
    let mut a = Asm::default();
    program(&mut a);
    let mut m = Machine::new(Config::default()).unwrap();
    m.write_memory(CODE, &a.0).unwrap();
    m.set_x(3, DATA);
    m.set_x(4, CODE + 0x80);
    m.set_x(29, 0x1800);
    let mut timed = Timed::new(core, (), Vec::new()).unwrap();
    if known {
        timed = timed.with_code(&Code::new(Isa::default(), vec![(CODE, a.0.clone())]));
    }
    for _ in 0..steps {
        m.step(&mut timed);
    }
    assert_eq!(timed.ledger().total(), timed.cycles());
    // Without what is fetched on a wrong path, which does not commit.
    timed.sink().iter().filter(|p| p.starts[4].is_some()).cloned().collect()
}

/// When each instruction issued and committed, from the first one's issue.
fn times(steps: usize, program: &dyn Fn(&mut Asm)) -> Vec<(u64, u64)> {
    let all = passages(&core(), steps, program);
    let first = all[0].starts[2].unwrap();
    all.iter().map(|p| (p.starts[2].unwrap() - first, p.end - 1 - first)).collect()
}

const X: Op = Op::Addi;

#[test]
fn an_instruction_issues_every_cycle_and_commits_two_cycles_later() {
    let seen = times(3, &|a| {
        a.op(X, 5, 0, 0, 1).op(X, 6, 5, 0, 1).op(X, 7, 6, 0, 1);
    });
    assert_eq!(seen, [(0, 2), (1, 3), (2, 4)]);
}

#[test]
fn a_load_is_used_three_cycles_later_and_two_instructions_commit_together() {
    let seen = times(4, &|a| {
        a.op(Op::Ld, 5, 3, 0, 0).op(X, 6, 0, 0, 1).op(X, 7, 0, 0, 1).op(X, 8, 5, 0, 0);
    });
    // The second commits beside the load; the fourth has the value in the cycle in which it is written.
    assert_eq!(seen, [(0, 4), (1, 4), (2, 5), (3, 5)]);
    let used = passages(&core(), 2, &|a| {
        a.op(Op::Ld, 5, 3, 0, 0).op(X, 6, 5, 0, 0);
    });
    let delay = used[1].starts[2].unwrap() - used[0].starts[2].unwrap();
    assert_eq!(delay, 3);
}

#[test]
fn a_register_is_written_again_when_its_last_writer_commits() {
    let seen = times(2, &|a| {
        a.op(X, 5, 0, 0, 1).op(X, 5, 0, 0, 2);
    });
    assert_eq!(seen, [(0, 2), (2, 4)]);
}

#[test]
fn products_and_quotients_share_a_port_with_the_other_results() {
    // The product comes in the cycle in which a sum that issued one cycle later would.
    let seen = times(2, &|a| {
        a.op(Op::Mul, 5, 3, 3, 0).op(X, 6, 0, 0, 1);
    });
    assert_eq!(seen, [(0, 3), (2, 4)]);
    // Dividend and divisor are equally long: three cycles, and the port is taken until then.
    let seen = times(2, &|a| {
        a.op(Op::Div, 5, 3, 3, 0).op(X, 6, 0, 0, 1);
    });
    assert_eq!(seen, [(0, 4), (4, 6)]);
    // A load has a port of its own.
    let seen = times(2, &|a| {
        a.op(Op::Div, 5, 3, 3, 0).op(Op::Ld, 6, 3, 0, 0);
    });
    assert_eq!(seen, [(0, 4), (2, 6)]);
}

#[test]
fn a_load_waits_until_an_older_store_to_its_word_is_in_the_write_buffer() {
    let seen = times(2, &|a| {
        a.op(Op::Sd, 0, 3, 3, 0).op(Op::Ld, 5, 3, 0, 0);
    });
    // The store commits at 3, enters the write buffer at 4 and is seen to be gone at 5; the load asks the cache at 6,
    // and has its value two cycles later.
    assert_eq!(seen, [(0, 3), (1, 9)]);
    // A page further it is the same word as far as the comparison goes; a word further it is not.
    let seen = |offset| {
        times(2, &|a| {
            a.op(Op::Sd, 0, 3, 3, 0).op(Op::Ld, 5, 3, 0, offset);
        })[1]
    };
    assert_eq!((seen(8), seen(7)), ((1, 5), (1, 5)));
}

#[test]
fn stores_commit_until_queue_and_write_buffer_are_full() {
    let seen = times(14, &|a| {
        for n in 0..14 {
            a.op(Op::Sd, 0, 3, 3, 8 * n);
        }
    });
    let commits: Vec<u64> = seen.iter().map(|s| s.1).collect();
    // Twelve fit. The first word was put in at 4 and sent at 5; 23 cycles later the answer is there, and its place is
    // free at 29, when the ninth goes there. Its place in the queue takes the thirteenth at 30.
    assert_eq!(commits[..12], [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
    assert_eq!(commits[12], 30);
    let (all, queue) = (
        passages(&core(), 13, &|a| {
            for n in 0..13 {
                a.op(Op::Sd, 0, 3, 3, 8 * n);
            }
        }),
        15,
    );
    assert_eq!(all[12].stalls.iter().map(|s| s.cycles).sum::<u64>(), queue);
}

#[test]
fn a_csr_is_read_at_commit_and_nothing_of_fixed_latency_issues_before() {
    let seen = times(3, &|a| {
        a.op(Op::Csrrs, 5, 0, 0, 0x340).op(X, 6, 0, 0, 1).op(X, 7, 5, 0, 1);
    });
    assert_eq!(seen, [(0, 2), (2, 4), (3, 5)]);
    // Writing mscratch changes nothing behind it, writing mstatus fetches everything again: requested in the cycle after
    // the commit, issued four cycles later.
    for (csr, then) in [(0x340, (2, 4)), (0x300, (7, 9))] {
        let seen = times(2, &|a| {
            a.op(Op::Csrrw, 0, 0, 3, csr).op(X, 6, 0, 0, 1);
        });
        assert_eq!(seen[1], then);
    }
}

#[test]
fn a_jump_costs_a_bubble_and_a_wrong_prediction_five() {
    let seen = times(2, &|a| {
        a.op(Op::Jal, 0, 0, 0, 8).op(X, 5, 0, 0, 1).op(X, 6, 0, 0, 1);
    });
    assert_eq!(seen, [(0, 2), (2, 4)]);
    // Without history, backward is taken; a branch to the next instruction is a jump as any other.
    let seen = times(2, &|a| {
        a.op(Op::Bne, 0, 0, 0, -4).op(X, 6, 0, 0, 1);
    });
    assert_eq!(seen[1].0, 6);
    let seen = times(2, &|a| {
        a.op(Op::Beq, 0, 0, 0, 4).op(X, 6, 0, 0, 1);
    });
    assert_eq!(seen[1].0, 6);
    let seen = times(2, &|a| {
        a.op(Op::Jal, 0, 0, 0, 4).op(X, 6, 0, 0, 1);
    });
    assert_eq!(seen[1].0, 2);
}

#[test]
fn a_trap_and_a_return_cost_the_depth_of_the_front_end() {
    // csrw mtvec, x4; csrw mepc, x4; ebreak; and at x4 mret, to itself.
    let all = passages(&core(), 6, &|a| {
        a.csrw(0x305, 4).csrw(0x341, 4).op(Op::Ebreak, 0, 0, 0, 0);
        while a.here() < 0x80 {
            a.op(X, 5, 0, 0, 1);
        }
        a.csrw(0x341, 4).op(Op::Mret, 0, 0, 0, 0);
    });
    let commits: Vec<u64> = all.iter().map(|p| p.end - 1).collect();
    // What traps commits alone. The fetch is in the cycle after that, and the handler commits six cycles later.
    assert_eq!(commits[2] - commits[1], 1);
    assert_eq!(commits[3] - commits[2], 7);
    assert_eq!(commits[5] - commits[4], 7);
}

#[test]
fn an_atomic_operation_waits_for_stores_and_for_the_bus() {
    let seen = times(3, &|a| {
        a.op(Op::AmoaddD, 5, 3, 3, 0).op(X, 6, 0, 0, 1).op(X, 7, 0, 0, 1);
    });
    // It is the oldest at 3; the bus has it two cycles later and answers after 20, one of which the cache takes; behind
    // it everything is fetched again.
    assert_eq!(seen[0], (0, 26));
    assert_eq!(seen[1], (31, 33));
}

#[test]
fn what_the_front_end_fetches_on_a_wrong_path_is_waited_for() {
    // The word behind the return is in a line that is not cached: the cache asks memory before the core decodes the return.
    let mut cached = core();
    cached.l1i = Core::preset("cva6").unwrap().l1i;
    let cost = |then: bool| {
        let all = passages(&cached, 24, &|a| {
            // mret at the end of a line goes to its beginning. Before, what is behind it runs if `then`.
            a.csrw(0x341, 4).op(Op::Jal, 0, 0, 0, if then { 0x8c } else { 0x78 });
            while a.here() < 0x80 {
                a.op(X, 5, 0, 0, 1);
            }
            a.csrw(0x300, 29).op(X, 6, 0, 0, 1).op(X, 7, 0, 0, 1).op(Op::Mret, 0, 0, 0, 0);
            a.op(X, 5, 0, 0, 1).op(X, 6, 0, 0, 1).op(X, 7, 0, 0, 1).op(Op::Jal, 0, 0, 0, -28);
        });
        let returns: Vec<usize> = (0..all.len() - 1).filter(|&n| all[n].pc == CODE + 0x8c).collect();
        let last = *returns.last().unwrap();
        all[last + 1].end - all[last].end
    };
    assert_eq!(cost(true), 7);
    // The word behind is requested one cycle after the return, five before that commits. It comes 24 cycles later, and the
    // one after that can be requested: seven cycles before its commit, as ever, less the cycle of the request.
    assert_eq!(cost(false), 24 - 5 + 1 + 6);
}

#[test]
fn code_that_was_loaded_is_predicted_before_it_is_executed() {
    // A call; what it calls traps; the handler returns behind that, to a return that is executed for the first time.
    let bubbles = |known: bool| {
        let all = passages_of(&core(), 8, known, &|a| {
            a.csrw(0x305, 4).op(Op::Jal, 1, 0, 0, 8).op(X, 6, 0, 0, 1).op(Op::Ebreak, 0, 0, 0, 0);
            a.op(Op::Jalr, 0, 1, 0, 0);
            while a.here() < 0x80 {
                a.op(X, 5, 0, 0, 1);
            }
            a.op(X, 7, 4, 0, -0x70).csrw(0x341, 7).op(Op::Mret, 0, 0, 0, 0);
        });
        assert_eq!((all[6].pc, all[7].pc), (CODE + 0x10, CODE + 8));
        all[7].starts[2].unwrap() - all[6].starts[2].unwrap()
    };
    // It was fetched behind the trap, and took the address off the return stack.
    assert_eq!(bubbles(true), 6);
    assert_eq!(bubbles(false), 2);
}

#[test]
fn a_wrong_path_is_fetched_until_the_queue_is_full() {
    // A branch at the end of a line waits for two divisions, 34 cycles each. Behind it the cache fills two lines, 28 cycles
    // with their words, and then the queue's eight instructions are there: a third line is not requested.
    let delay = |queue: u32| {
        let mut cached = core();
        cached.l1i = Core::preset("cva6").unwrap().l1i;
        cached.front.queue = queue;
        let all = passages(&cached, 22, &|a| {
            while a.here() < 0x3c {
                a.op(X, 5, 0, 0, 1);
            }
            a.op(X, 6, 0, 0, 1).op(Op::Div, 7, 3, 6, 0).op(Op::Div, 7, 7, 6, 0);
            a.op(X, 8, 0, 0, 1).op(Op::Bne, 0, 7, 0, 0x54);
            while a.here() < 0xb0 {
                a.op(X, 5, 0, 0, 1);
            }
        });
        let branch = all.iter().position(|p| p.pc == CODE + 0x4c).unwrap();
        assert_eq!(all[branch + 1].pc, CODE + 0xa0);
        all[branch + 1].starts[2].unwrap() - all[branch].starts[2].unwrap()
    };
    // As behind any wrong prediction, and the miss at the target.
    assert_eq!(delay(8), 6 + 23);
    assert!(delay(64) > 6 + 23);
}

#[test]
fn the_ledger_says_what_was_waited_for() {
    let mut m = Machine::new(Config::default()).unwrap();
    let mut a = Asm::default();
    a.op(Op::Ld, 5, 3, 0, 0).op(X, 6, 5, 0, 0).op(Op::Div, 7, 3, 0, 0).op(X, 8, 7, 0, 0);
    m.write_memory(CODE, &a.0).unwrap();
    m.set_x(3, DATA);
    let mut timed = Timed::new(&core(), (), ()).unwrap();
    m.run(4, &mut timed);
    let ledger = timed.ledger();
    assert_eq!(ledger.total(), timed.cycles());
    // Two cycles of the load are its own. A division by zero finds 64 digits, which takes 67 cycles in place of one, and
    // leaves the port for results one cycle later.
    assert_eq!(ledger.of_cause(Cause::LoadUse), 2);
    assert_eq!(ledger.of_cause(Cause::LongOperation), 66 + 1);
}

#[test]
fn nothing_issues_while_all_entries_are_taken() {
    // rtl: div.then_load. Loads have their own port, and issue behind a long division until the scoreboard is full. The
    // division's entry is free in the cycle behind its commit.
    for entries in [4, 8] {
        let mut core = core();
        core.scoreboard.entries = entries;
        let all = passages(&core, 10, &|a| {
            a.op(Op::Div, 5, 3, 29, 0);
            for n in 0..9 {
                a.op(Op::Ld, 10 + n, 3, 0, 8 * i64::from(n));
            }
        });
        let issued = |n: u32| all[n as usize].starts[2].unwrap();
        let commit = all[0].end - 1;
        assert!(issued(entries - 1) < commit, "{entries}: the last entry is taken before");
        assert_eq!(issued(entries), commit + 1, "{entries}");
    }
}
