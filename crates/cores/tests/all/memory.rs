//! Keys of caches, translation, devices, target buffers and the stores of a scoreboard. What each of them adds to a short
//! program is counted by hand from what the RTL does; each row changes one key.

use crate::common::Asm;
use crate::common::diagram::{asm, ripes, with};
use tollgate_cores::{Cause, Core, Ledger, Timed};
use tollgate_riscv::cache::Policy;
use tollgate_riscv::{Config, Machine, Op};

const CODE: u64 = 0x8000_0000;
const DATA: u64 = CODE + 0x1000;
const TABLES: u64 = CODE + 0x10_0000;
/// Where supervisor mode finds pages of data.
const PAGES: u64 = 0x4000_0000;
const DEVICE: u64 = 0x0200_bff8;
const SATP: i64 = 0x180;
const X: Op = Op::Addi;

/// A core with a key changed.
type Key = fn(&mut Core);
/// The cycles of a program, and what they are charged to.
type Run = dyn Fn(&Core) -> (u64, Ledger);

fn execute(core: &Core, machine: &mut Machine, steps: usize) -> (u64, Ledger) {
    let mut timed = Timed::new(core, (), ()).unwrap();
    for _ in 0..steps {
        timed.step(machine);
    }
    assert_eq!(timed.ledger().total(), timed.cycles());
    (timed.cycles(), timed.ledger().clone())
}

/// So many instructions of a program in machine mode; x3 is the address of data, x4 that of a device.
fn bare(steps: usize, program: impl Fn(&mut Asm)) -> impl Fn(&Core) -> (u64, Ledger) {
    move |core| {
        let mut machine = Machine::new(Config::default()).unwrap();
        machine.write_memory(CODE, &asm(&program).0).unwrap();
        machine.set_x(3, DATA);
        machine.set_x(4, DEVICE);
        execute(core, &mut machine, steps)
    }
}

/// The same in supervisor mode, behind the instructions that go there. The code is in a page of 1 GiB; x10 and x11 are the
/// addresses of two pages of 4 KiB, x12 that of one which is not mapped, and x5 is what satp is; x13 is another identifier
/// of the same address space.
fn supervisor(steps: usize, program: impl Fn(&mut Asm)) -> impl Fn(&Core) -> (u64, Ledger) {
    move |core| {
        let mut machine = Machine::new(Config::default()).unwrap();
        let code = asm(|a| {
            a.csrw(SATP, 5).csrw(0x341, 6).csrw(0x300, 7).op(Op::Mret, 0, 0, 0, 0);
            program(a);
        });
        machine.write_memory(CODE, &code.0).unwrap();
        let mut entry = |table: u64, index: u64, value: u64| {
            machine.write_memory(TABLES + 0x1000 * table + 8 * index, &value.to_le_bytes()).unwrap();
        };
        // Sv39: V, and for a leaf also R, W, X, A and D.
        let (table, leaf) = (0x01, 0xcf);
        entry(0, 2, CODE >> 2 | leaf);
        entry(0, 1, (TABLES + 0x1000) >> 2 | table);
        entry(1, 0, (TABLES + 0x2000) >> 2 | table);
        entry(2, 0, DATA >> 2 | leaf);
        entry(2, 1, (DATA + 0x1000) >> 2 | leaf);
        for (register, value) in [
            (5, 8 << 60 | TABLES >> 12),
            (6, CODE + 16),
            (7, 0x800), // mstatus.MPP = S
            (10, PAGES),
            (11, PAGES + 0x1000),
            (12, PAGES + 0x2000),
            (13, 8 << 60 | 1 << 44 | TABLES >> 12),
        ] {
            machine.set_x(register, value);
        }
        execute(core, &mut machine, 4 + steps)
    }
}

/// What is charged to a cause, with each key.
fn charged(core: &Core, cause: Cause, run: &Run, keys: &[(&str, Key, u64)]) {
    for (name, key, expected) in keys {
        let seen = run(&with(core.clone(), key)).1.of_cause(cause);
        assert_eq!(seen, *expected, "{name}");
    }
}

/// How many cycles more the program takes with each key.
fn more(core: &Core, run: &Run, keys: &[(&str, Key, u64)]) {
    for (name, key, expected) in keys {
        let seen = run(&with(core.clone(), key)).0 - run(core).0;
        assert_eq!(seen, *expected, "{name}");
    }
}

fn load(a: &mut Asm, from: u8) -> &mut Asm {
    a.op(Op::Ld, 20, from, 0, 0)
}

/// Translation buffers and a walker with Rocket's figures: 5 cycles and 4 for each table, 1 for a table that it keeps.
fn walks() -> Core {
    let rocket = Core::preset("rocket").unwrap();
    with(ripes(), |c| {
        (c.itlb, c.dtlb) = (rocket.itlb, rocket.dtlb);
        (c.memory.walk, c.memory.walk_level) = (5, Some(4));
        c.memory.walk_cache = 8;
    })
}

/// rtl: Rocket, translated.pages_40, and switch-space among its traps.
#[test]
fn a_walk_reads_the_tables_that_are_not_kept() {
    // The first fetch reads one table: 9. The first load reads three: 17. The second reads the last one behind two that are
    // kept: 11. The third finds the first one's page.
    let run = supervisor(3, |a| {
        load(load(load(a, 10), 11), 10);
    });
    charged(
        &walks(),
        Cause::TlbWalk,
        &run,
        &[
            ("all", |_| (), 9 + 17 + 11),
            ("walk", |c| c.memory.walk = 0, 4 + 12 + 6),
            ("fetch-walk", |c| c.memory.fetch_walk = Some(1), 5 + 17 + 11),
            ("fetch-walk-step", |c| c.memory.fetch_walk_step = 2, 10 + 17 + 11),
            ("walk-level", |c| c.memory.walk_level = None, 6 + 8 + 8),
            ("walk-cache", |c| c.memory.walk_cache = 0, 9 + 17 + 17),
            ("itlb", |c| c.itlb = None, 17 + 11),
            ("dtlb", |c| c.dtlb = None, 9),
            ("dtlb.entries", |c| c.dtlb.as_mut().unwrap().entries = 1, 9 + 17 + 11 + 11),
        ],
    );
}

/// rtl: VexRiscv, translated.same_space: its translations are gone behind a write of satp, also of the same value.
#[test]
fn a_write_of_satp_empties_the_translation_buffers_of_some_cores() {
    let run = supervisor(3, |a| {
        load(load(a, 10).csrw(SATP, 5), 10);
    });
    // What is behind the write is fetched again, so that no stall of the first load hides its walk.
    charged(
        &with(walks(), |c| c.system.csr_flush = 2),
        Cause::TlbWalk,
        &run,
        &[
            ("kept", |_| (), 9 + 17),
            // The walker keeps its tables.
            ("satp-empties", |c| c.system.satp_empties = true, 9 + 17 + 9 + 11),
        ],
    );
}

/// rtl: Rocket, switch-space: between the write of satp and `sfence.vma` code is found by the translations of before.
#[test]
fn translations_without_identifiers_stay_when_satp_changes() {
    let run = supervisor(3, |a| {
        load(load(a, 10).csrw(SATP, 13), 10);
    });
    let walks = |bits| run(&with(walks(), |c| c.system.asid_bits = bits)).1.of_cause(Cause::TlbWalk);
    assert_eq!(walks(Some(0)), 9 + 17);
    // The load behind the write walks behind two tables that are kept.
    assert!(walks(None) >= 9 + 17 + 11);
}

/// rtl: Rocket, switch-space: the walker's miss is there two cycles earlier than a load's if a changed line has to leave.
#[test]
fn a_walk_waits_for_a_changed_line_to_leave() {
    let run = supervisor(2, |a| {
        load(a.op(Op::Sd, 0, 10, 0, 0), 11);
    });
    // The last table of the load's page takes the place of the line that was stored to.
    let core = with(walks(), |c| {
        let cached = one_line();
        (c.l1d, c.memory.write_back, c.memory.walk_write_back) = (cached.l1d, 16, Some(0));
    });
    more(
        &core,
        &run,
        &[
            ("as loads", |c| c.memory.walk_write_back = None, 16),
            ("walk-write-back", |c| c.memory.walk_write_back = Some(14), 14),
        ],
    );
}

/// rtl: CVA6, translated.load_fault: that there is no translation is found out by a walk each time.
#[test]
fn a_load_without_a_translation_walks_before_it_traps() {
    let run = supervisor(1, |a| {
        load(a, 12);
    });
    charged(
        &walks(),
        Cause::TlbWalk,
        &run,
        &[("not", |_| (), 9), ("fault-walks", |c| c.memory.fault_walks = true, 9 + 9)],
    );
}

/// Data in one line of 64 bytes; memory answers after 20 cycles, and a miss takes 13 more.
fn one_line() -> Core {
    let text = "base = 'ripes-5stage'\n[l1d]\ngeometry = '1:1:64'\n[memory]\nlatency = 20\nmiss = 13\nwrite-back = 16";
    Core::from_toml(text).unwrap()
}

/// rtl: Rocket, cache.store_lines: the changed line leaves before the other one comes.
#[test]
fn a_miss_waits_for_a_changed_line_to_leave() {
    let run = bare(2, |a| {
        a.op(Op::Sd, 0, 3, 0, 0).op(Op::Ld, 20, 3, 0, 64);
    });
    charged(
        &one_line(),
        Cause::DMiss,
        &run,
        &[
            // The store does not wait.
            ("all", |_| (), 20 + 13 + 16),
            ("write-back", |c| c.memory.write_back = 0, 20 + 13),
            ("write-through", |c| c.l1d.as_mut().unwrap().write_through = true, 20 + 13),
            ("stores-wait", |c| c.memory.stores_wait = true, 33 + 49),
        ],
    );
    let run = bare(2, |a| {
        a.op(Op::Sd, 0, 3, 0, 0).op(Op::Ld, 20, 3, 0, 8);
    });
    charged(
        &one_line(),
        Cause::DMiss,
        &run,
        &[
            ("the store has brought the line", |_| (), 0),
            // rtl: CVA6, cache.store_lines.
            ("no-write-allocate", |c| c.l1d.as_mut().unwrap().no_write_allocate = true, 20 + 13),
        ],
    );
}

#[test]
fn a_full_set_evicts_what_its_policy_says() {
    // Lines A, B, A, C, A in two places: the first that came is A, the one that was not used for the longest time is B.
    let run = bare(5, |a| {
        for offset in [0, 64, 0, 128, 0] {
            a.op(Op::Ld, 20, 3, 0, offset);
        }
    });
    let core = with(one_line(), |c| c.l1d.as_mut().unwrap().geometry = "1:2:64".into());
    charged(
        &core,
        Cause::DMiss,
        &run,
        &[("lru", |_| (), 3 * 33), ("fifo", |c| c.l1d.as_mut().unwrap().replacement = Policy::Fifo, 4 * 33)],
    );
    // rtl: Rocket. The register begins with 1 and shifts a zero in until its eleventh move; each fill moves it, also one that
    // finds an empty place. Its lowest bit chooses. Not moved before: A comes to place 1, B and then C to place 0, and A is
    // found twice. After one move all come to place 0: nothing is found. After ten: A to 0, B to 1, C and then A to 0.
    for (seed, misses) in [(0, 3), (1, 5), (10, 4)] {
        let core = with(core.clone(), |c| {
            let l1d = c.l1d.as_mut().unwrap();
            (l1d.replacement, l1d.seed) = (Policy::Lfsr16 { moves: 0 }, seed);
        });
        charged(&core, Cause::DMiss, &run, &[("lfsr16", |_| (), misses * 33)]);
    }
    // The same with instructions: jumps from A to B, back, to C, and back.
    let run = bare(5, |a| {
        a.op(Op::Jal, 0, 0, 0, 64).op(Op::Jal, 0, 0, 0, 124);
        while a.here() < 128 {
            a.op(Op::Jal, 0, 0, 0, -60);
        }
        a.op(Op::Jal, 0, 0, 0, -120);
    });
    let core = "base = 'ripes-5stage'\n[l1i]\ngeometry = '1:2:64'\n[memory]\nlatency = 20\nfetch-miss = 18";
    charged(
        &Core::from_toml(core).unwrap(),
        Cause::IMiss,
        &run,
        &[("lru", |_| (), 3 * 38), ("fifo", |c| c.l1i.as_mut().unwrap().replacement = Policy::Fifo, 4 * 38)],
    );
}

/// A second level of four lines, which answers after 5 cycles.
#[test]
fn a_second_level_answers_before_memory() {
    let core = with(one_line(), |c| {
        let text = "[l2]\ngeometry = '1:4:64'\nhit = 5\n[l1i]\ngeometry = '1:1:64'";
        c.l2 = Core::from_toml(text).unwrap().l2;
    });
    let run = bare(3, |a| {
        for offset in [0, 64, 0] {
            a.op(Op::Ld, 20, 3, 0, offset);
        }
    });
    charged(
        &core,
        Cause::DMiss,
        &run,
        &[
            ("all", |_| (), 38 + 38 + 18),
            ("l2", |c| c.l2 = None, 3 * 33),
            ("l2.hit", |c| c.l2.as_mut().unwrap().hit = 0, 33 + 33 + 13),
        ],
    );
    let run = bare(5, |a| {
        for offset in [0, 64, 0, 128, 0] {
            a.op(Op::Ld, 20, 3, 0, offset);
        }
    });
    let core = with(core, |c| c.l2.as_mut().unwrap().geometry = "1:2:64".into());
    charged(
        &core,
        Cause::DMiss,
        &run,
        &[
            ("lru", |_| (), 5 * 18 + 3 * 20),
            ("fifo", |c| c.l2.as_mut().unwrap().replacement = Policy::Fifo, 5 * 18 + 4 * 20),
        ],
    );
}

/// rtl: device.load and device.store_then_work of Rocket and of CVA6.
#[test]
fn a_device_is_waited_for() {
    let core = with(ripes(), |c| c.memory.latency = 20);
    let on_bus: Key = |c| (c.memory.device, c.memory.device_on_bus) = (3, true);
    let waited: Key = |c| c.memory.device = 7;
    let rows = [("device", waited, 7), ("device-on-bus", on_bus, 23)];
    more(
        &core,
        &bare(2, |a| {
            load(a, 4).op(X, 6, 20, 0, 1);
        }),
        &rows,
    );
    more(
        &core,
        &bare(2, |a| {
            load(a, 4).op(X, 6, 7, 0, 1);
        }),
        &rows,
    );
    more(
        &core,
        &bare(2, |a| {
            a.op(Op::Sd, 0, 4, 0, 0).op(X, 6, 7, 0, 1);
        }),
        &rows,
    );
    let memory = [("device", waited, 0), ("device-on-bus", on_bus, 0)];
    more(
        &core,
        &bare(2, |a| {
            load(a, 3).op(X, 6, 20, 0, 1);
        }),
        &memory,
    );
}

#[test]
fn a_target_buffer_knows_a_jump_from_its_second_time_on() {
    // Two jumps that lead to each other, 64 bytes apart, three times each; each one costs two bubbles where its target is
    // not known.
    let run = bare(7, |a| {
        a.op(Op::Jal, 0, 0, 0, 64);
        while a.here() <= 64 {
            a.op(Op::Jal, 0, 0, 0, -64);
        }
    });
    charged(
        &ripes(),
        Cause::Branch,
        &run,
        &[
            ("none", |_| (), 6 * 2),
            ("btb", |c| c.branch.btb = 64, 2 * 2),
            // By address, 64 bytes apart is the same of 32 entries for halves of words.
            ("too small", |c| c.branch.btb = 32, 6 * 2),
        ],
    );
}

/// rtl: csr.write_* of Rocket, VexRiscv and CVA6: a kind of register flushes as its key says, and no other kind does.
#[test]
fn each_kind_of_register_flushes_by_its_own_key() {
    let kinds: [(&str, Key, &[i64]); 11] = [
        ("status", |c| c.system.csr_flush_of.status = Some(9), &[0x100, 0x300]),
        ("enable", |c| c.system.csr_flush_of.enable = Some(9), &[0x104, 0x304]),
        ("pending", |c| c.system.csr_flush_of.pending = Some(9), &[0x144, 0x344]),
        ("vector", |c| c.system.csr_flush_of.vector = Some(9), &[0x105, 0x305]),
        ("scratch", |c| c.system.csr_flush_of.scratch = Some(9), &[0x140, 0x340]),
        ("epc", |c| c.system.csr_flush_of.epc = Some(9), &[0x141, 0x341]),
        ("cause", |c| c.system.csr_flush_of.cause = Some(9), &[0x142, 0x342]),
        ("value", |c| c.system.csr_flush_of.value = Some(9), &[0x143, 0x343]),
        ("translation", |c| c.system.csr_flush_of.translation = Some(9), &[SATP]),
        ("protection", |c| c.system.csr_flush_of.protection = Some(9), &[0x3a0, 0x3b0]),
        ("float", |c| c.system.csr_flush_of.float = Some(9), &[0x001, 0x002, 0x003]),
    ];
    let core = with(ripes(), |c| c.system.csr_flush = 2);
    for (name, key, own) in kinds {
        for register in kinds.iter().flat_map(|(.., registers)| registers.iter().copied()) {
            let run = bare(4, move |a| {
                // mstatus.FS, without which the flags cannot be written.
                a.op(Op::Lui, 5, 0, 0, 0x6000).op(Op::Csrrs, 0, 5, 0, 0x300);
                a.csrw(register, 0).op(X, 6, 0, 0, 1);
            });
            // Behind the switch of FS there are bubbles, too.
            let before = if name == "status" { 7 } else { 0 };
            let expected = before + if own.contains(&register) { 7 } else { 0 };
            more(&core, &run, &[(name, key, expected)]);
        }
    }
}

/// CVA6 without caches; memory answers after 20 cycles.
fn scoreboard() -> Core {
    with(Core::preset("cva6").unwrap(), |c| (c.l1i, c.l1d, c.memory.latency) = (None, None, 20))
}

/// rtl: CVA6, fence.after_store and cache.store_lines. A write is answered 20 + 3 cycles after its sending. Of five words,
/// sent in cycles 5 to 9, the last one is in memory at 32, and the fence waits for it.
#[test]
fn a_write_waits_until_one_of_those_on_their_way_is_answered() {
    let run = bare(7, |a| {
        for word in 0..5 {
            a.op(Op::Sd, 0, 3, 0, 8 * word);
        }
        a.op(Op::Fence, 0, 0, 0, 0).op(X, 6, 0, 0, 1);
    });
    more(
        &with(scoreboard(), |c| c.stores.writes = 8),
        &run,
        &[
            // The fifth is sent behind the first one's answer, at 29 instead of 9.
            ("writes", |c| c.stores.writes = 4, 20),
            ("write-latency", |c| c.memory.write_latency = Some(30), 10),
            ("latency of memory, the write's as well", |c| c.memory.latency = 30, 10),
        ],
    );
    more(
        &with(scoreboard(), |c| (c.stores.writes, c.memory.write_latency) = (8, Some(20))),
        &run,
        &[("latency of reads", |c| c.memory.latency = 30, 0)],
    );
}

/// rtl: CVA6, translated.pages_40: two more than the walk itself, with which the load begins again.
#[test]
fn a_load_of_a_scoreboard_begins_again_behind_a_walk() {
    let run = supervisor(2, |a| {
        load(a, 10).op(X, 6, 20, 0, 1);
    });
    let without = with(scoreboard(), |c| c.scoreboard.walk = 0);
    more(&without, &run, &[("scoreboard.walk", |c| c.scoreboard.walk = 2, 2)]);
}
