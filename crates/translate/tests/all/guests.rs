//! Guests whose results were computed by hand, against the reference interpreter: interrupts, jumps, and what is special to a width.

use std::cell::RefCell;
use std::rc::Rc;

use crate::common::{Asm, Rng, random::BASE};
use crate::equal::{Counted, ISAS, MSTATUS, Seen, WORDS, compare, finish, machine};
use tollgate_riscv::{Config, Elf, Machine, MachineKind, Op, Stop, Xlen};
use tollgate_translate::Translations;

#[test]
fn the_timer_interrupts_at_the_same_instruction() {
    for (isa, load, store, bytes) in WORDS {
        the_timer_interrupts(isa, load, store, bytes);
    }
}

fn the_timer_interrupts(isa: &str, load: Op, store: Op, bytes: i64) {
    // mtimecmp = mtime + 20 again and again: the handler counts in s0, the loop in a0.
    let mut asm = Asm::default();
    asm.op(Op::Auipc, 5, 0, 0, 0);
    let vector = asm.0.len() as i64 - 4;
    asm.op(Op::Addi, 5, 5, 0, 0);
    let patch = asm.0.len() - 4;
    asm.op(Op::Csrrw, 0, 5, 0, 0x305);
    asm.op(Op::Lui, 6, 0, 0, 0x200_4000);
    asm.op(Op::Lui, 7, 0, 0, 0x200_c000);
    // (RV32 writes both halves; the upper one stays 0.)
    asm.op(store, 0, 6, 0, 0).op(store, 0, 6, 0, 8 - bytes);
    asm.li(28, 0x80);
    asm.op(Op::Csrrs, 0, 28, 0, 0x304);
    asm.op(Op::Csrrsi, 0, 8, 0, 0x300);
    asm.li(11, 20_000);
    let top = asm.0.len() as i64;
    asm.op(Op::Addi, 10, 10, 0, 3);
    asm.op(Op::Xor, 13, 13, 10, 0);
    asm.op(Op::Addi, 11, 11, 0, -1);
    let at = asm.0.len() as i64;
    asm.op(Op::Bne, 0, 11, 0, top - at);
    finish(&mut asm);
    let handler = asm.0.len() as i64;
    asm.op(Op::Addi, 8, 8, 0, 1);
    asm.op(load, 9, 7, 0, -8);
    asm.op(Op::Addi, 9, 9, 0, 20);
    asm.op(store, 0, 6, 9, 0);
    asm.op(Op::Mret, 0, 0, 0, 0);
    let mut fixed = Asm::default();
    fixed.op(Op::Addi, 5, 5, 0, handler - vector);
    asm.0[patch..patch + 4].copy_from_slice(&fixed.0);
    let (_, seen) = compare(isa, &asm.0, &mut Rng(7), 9_000, "timer");
    assert!(seen.borrow().retired > 40_000, "{}", seen.borrow().retired);
    let mut plain = machine(isa.parse().unwrap(), &asm.0);
    plain.run_reference(1_000_000, &mut ());
    assert!(plain.x(8) > 30, "{} interrupts", plain.x(8));
}

/// `jal` to a place.
fn call(asm: &mut Asm, link: u8, to: i64) {
    let at = asm.0.len() as i64;
    asm.op(Op::Jal, link, 0, 0, to - at);
}

#[test]
fn calls_returns_and_indirect_jumps_go_on_in_translated_code() {
    // A loop of 6,000 rounds. Each calls a function in its page, one in the next page, which calls a third one in a third page,
    // and one by its address; each adds another number to a0.
    let mut asm = Asm::default();
    asm.op(Op::Auipc, 9, 0, 0, 0x3000).li(11, 6_000);
    let top = asm.0.len() as i64;
    call(&mut asm, 1, 2048);
    call(&mut asm, 1, 4096);
    asm.op(Op::Jalr, 1, 9, 0, 0);
    asm.op(Op::Addi, 11, 11, 0, -1);
    let at = asm.0.len() as i64;
    asm.op(Op::Bne, 0, 11, 0, top - at);
    finish(&mut asm);
    asm.0.resize(2048, 0);
    asm.op(Op::Addi, 10, 10, 0, 1).op(Op::Jalr, 0, 1, 0, 0);
    asm.0.resize(4096, 0);
    asm.op(Op::Addi, 10, 10, 0, 20).op(Op::Addi, 12, 1, 0, 0);
    call(&mut asm, 1, 8192);
    asm.op(Op::Jalr, 0, 12, 0, 0);
    asm.0.resize(8192, 0);
    asm.op(Op::Addi, 10, 10, 0, 300).op(Op::Jalr, 0, 1, 0, 0);
    asm.0.resize(0x3000, 0);
    asm.op(Op::Addi, 10, 10, 0, 2000).op(Op::Jalr, 0, 1, 0, 0);
    for isa in ISAS {
        let (stop, seen) = compare(isa, &asm.0, &mut Rng(5), 18_000, "calls");
        assert_eq!(stop, Stop::Exit { code: 0 });
        let Seen { retired, entered, .. } = *seen.borrow();
        // A round is 15 instructions. Without going on, each entry would be left at a return or at the end of a page.
        assert!(retired > 30_000 && retired > entered * 200, "{retired} in {entered} entries");
        let mut plain = machine(isa.parse().unwrap(), &asm.0);
        plain.run_reference(200_000, &mut ());
        assert_eq!(plain.x(10), 6_000 * 2_321);
    }
}

#[test]
fn returns_from_a_deep_recursion_stop_at_the_limit() {
    for (isa, load, store, bytes) in WORDS {
        returns_from_a_recursion(isa, load, store, bytes);
    }
}

fn returns_from_a_recursion(isa: &str, load: Op, store: Op, bytes: i64) {
    // 40 rounds of a recursion of depth 500 that has no loop: on the way back, returns are the only jumps.
    let mut asm = Asm::default();
    asm.op(Op::Auipc, 2, 0, 0, 0x2_0000).li(11, 40);
    let top = asm.0.len() as i64;
    asm.li(12, 500);
    call(&mut asm, 1, 256);
    asm.op(Op::Addi, 11, 11, 0, -1);
    let at = asm.0.len() as i64;
    asm.op(Op::Bne, 0, 11, 0, top - at);
    finish(&mut asm);
    asm.0.resize(256, 0);
    asm.op(Op::Addi, 2, 2, 0, -bytes).op(store, 0, 2, 1, 0).op(Op::Addi, 12, 12, 0, -1);
    asm.op(Op::Beq, 0, 12, 0, 8);
    call(&mut asm, 1, 256);
    asm.op(load, 1, 2, 0, 0).op(Op::Addi, 2, 2, 0, bytes).op(Op::Addi, 10, 10, 0, 1).op(Op::Jalr, 0, 1, 0, 0);
    for seed in 1..=5 {
        let (stop, seen) = compare(isa, &asm.0, &mut Rng(seed), 5_000, &format!("recursion, seed {seed}"));
        assert_eq!(stop, Stop::Exit { code: 0 });
        assert!(seen.borrow().retired > 90_000, "{}", seen.borrow().retired);
    }
    let mut plain = machine(isa.parse().unwrap(), &asm.0);
    plain.run_reference(1_000_000, &mut ());
    assert_eq!(plain.x(10), 40 * 500);
}

#[test]
fn jumps_between_instructions_trap_where_there_are_no_compressed_ones() {
    // A hot loop of 3,000 rounds, and in the last hundred of them a branch, a `jal` or a `jalr` to an address that is even and
    // not a multiple of four: a trap before the jump has retired (unprivileged specification, 2.5). The handler counts in s0
    // and skips the instruction.
    let jumps: [fn(&mut Asm); 3] = [
        |asm| {
            asm.op(Op::Beq, 0, 0, 0, 6);
        },
        |asm| {
            asm.op(Op::Jal, 1, 0, 0, 6);
        },
        |asm| {
            asm.op(Op::Jalr, 1, 5, 0, 2);
        },
    ];
    for (place, jump) in jumps.into_iter().enumerate() {
        let mut asm = Asm::default();
        asm.op(Op::Auipc, 5, 0, 0, 0).op(Op::Addi, 6, 5, 0, 256).op(Op::Csrrw, 0, 6, 0, 0x305);
        asm.li(11, 3_000).li(12, 100);
        let top = asm.0.len() as i64;
        asm.op(Op::Xor, 13, 13, 11, 0);
        asm.op(Op::Bge, 0, 11, 12, 8);
        jump(&mut asm);
        asm.op(Op::Addi, 11, 11, 0, -1);
        let at = asm.0.len() as i64;
        asm.op(Op::Bne, 0, 11, 0, top - at);
        finish(&mut asm);
        asm.0.resize(256, 0);
        asm.op(Op::Addi, 8, 8, 0, 1);
        asm.op(Op::Csrrs, 9, 0, 0, 0x341).op(Op::Addi, 9, 9, 0, 4).op(Op::Csrrw, 0, 9, 0, 0x341);
        asm.op(Op::Mret, 0, 0, 0, 0);
        for isa in ["rv64im", "rv32im"] {
            let (stop, seen) = compare(isa, &asm.0, &mut Rng(3), 5_000, &format!("jump {place}"));
            assert_eq!(stop, Stop::Exit { code: 0 });
            assert!(seen.borrow().retired > 5_000, "jump {place}: {}", seen.borrow().retired);
            let mut plain = machine(isa.parse().unwrap(), &asm.0);
            plain.run_reference(100_000, &mut ());
            assert_eq!(plain.x(8), 99, "jump {place}: rounds 99 to 1");
        }
    }
}

/// On RV32 addresses wrap in the middle of the range of 64 bits and at its end: code in the page at 0x7fff_f000, and at 0xffff_f000, that
/// calls what is in the page at 0x8000_0000, and at 0, goes on there by itself, by a return and by an indirect jump, and loads from there.
#[test]
fn addresses_of_rv32_wrap() {
    const CODE: u64 = 0x3000;
    const ROOT: u64 = 0x4000;
    const HIGH: u64 = 0x5000;
    const LOW: u64 = 0x6000;
    const ROUNDS: i32 = 3_000;
    let mut asm = Asm::default();
    // s1 (9) counts, s2 (18) is where to go, at first 0. Behind the page's end, and at the start:
    asm.op(Op::Bne, 0, 18, 0, 0x100);
    asm.op(Op::Auipc, 5, 0, 0, 0).op(Op::Addi, 6, 5, 0, 0x300 - 4).csrw(0x305, 6);
    // pmpaddr0 and pmpcfg0: everything is allowed. satp: Sv32 with the tables below. Then to S-mode, which begins there.
    asm.li(6, -1).csrw(0x3b0, 6).li(6, 0x1f).csrw(0x3a0, 6);
    asm.li(6, (1 << 31 | (BASE + ROOT) >> 12) as i32).csrw(0x180, 6).op(Op::SfenceVma, 0, 0, 0, 0);
    asm.li(6, 0x800).csrw(0x300, 6).op(Op::Addi, 6, 5, 0, 0x80 - 4).csrw(0x341, 6).op(Op::Mret, 0, 0, 0, 0);
    asm.0.resize(0x80, 0);
    asm.li(9, ROUNDS).li(18, 0x7fff_fff0).li(19, i32::MIN).op(Op::Jal, 0, 0, 0, 0x100 - 0x98);
    assert!(asm.0.len() <= 0x100);
    asm.0.resize(0x100, 0);
    // The rest of the loop, which loads its first instruction: to the page, and after 64 rounds to the other one. (Tables of the
    // engine have one place for both.)
    asm.op(Op::Lw, 10, 18, 0, 0x110).op(Op::Add, 13, 13, 10, 0);
    asm.op(Op::Addi, 9, 9, 0, -1).op(Op::Beq, 0, 9, 0, 20);
    asm.op(Op::Andi, 6, 9, 0, 63).op(Op::Bne, 0, 6, 0, 8);
    asm.op(Op::Xor, 18, 18, 19, 0).op(Op::Jalr, 0, 18, 0, 0).op(Op::Ecall, 0, 0, 0, 0);
    asm.0.resize(0x200, 0);
    asm.op(Op::Addi, 12, 12, 0, 8).op(Op::Andi, 6, 9, 0, 2).op(Op::Beq, 0, 6, 0, 8);
    asm.op(Op::Jalr, 0, 1, 0, 0).op(Op::Jalr, 0, 1, 0, 8);
    asm.0.resize(0x300, 0);
    finish(&mut asm);
    asm.0.resize(CODE as usize + 0xff0, 0);
    asm.op(Op::Addi, 12, 12, 0, 1).op(Op::Jal, 1, 0, 0, 0x20c);
    asm.op(Op::Addi, 12, 12, 0, 2).op(Op::Addi, 12, 12, 0, 4);
    // Page tables: 0x8000_0000 as a large page; the last pages below it and of all are the code's, page 0 is the first one of RAM.
    let leaf = |offset: u64| ((BASE + offset) >> 12 << 10 | 0xcf) as u32;
    let table = |offset: u64| ((BASE + offset) >> 12 << 10 | 1) as u32;
    asm.0.resize(0x7000, 0);
    for (place, entry) in [
        (ROOT + 4 * 0x200, leaf(0)),
        (ROOT + 4 * 0x1ff, table(HIGH)),
        (ROOT + 4 * 0x3ff, table(HIGH)),
        (ROOT, table(LOW)),
        (HIGH + 4 * 0x3ff, leaf(CODE)),
        (LOW, leaf(0)),
    ] {
        asm.0[place as usize..][..4].copy_from_slice(&entry.to_le_bytes());
    }
    let (stop, seen) = compare(ISAS[1], &asm.0, &mut Rng(2), 8_000, "wrapping");
    assert_eq!(stop, Stop::Exit { code: 0 });
    assert!(seen.borrow().retired > 10_000, "{}", seen.borrow().retired);
    let mut plain = machine(ISAS[1].parse().unwrap(), &asm.0);
    assert_eq!(plain.run_reference(1_000_000, &mut ()), Stop::Exit { code: 0 });
    // A round adds 1 and 8, and every other two rounds 2 and 4. The first one begins in the middle.
    let word = u32::from_le_bytes(asm.0[0x100..0x104].try_into().unwrap());
    assert_eq!(plain.x(13), u64::from(word.wrapping_mul(ROUNDS as u32)));
    assert_eq!(plain.x(12), (9 * (ROUNDS as u64 - 1)) + 6 * (ROUNDS as u64 / 2));
}

/// Two harts in loops of their own, which add to one word: each is translated, and their turns end where the interpreter's do.
#[test]
fn harts_in_turns_are_translated_each() {
    let mut asm = Asm::default();
    asm.op(Op::Auipc, 12, 0, 0, 0x1000).csrr(10, 0xf14).op(Op::Slli, 11, 10, 0, 3);
    asm.op(Op::Add, 11, 11, 12, 0).op(Op::Addi, 14, 10, 0, 1);
    let top = asm.0.len() as i64;
    // One op does the second and the third one: no turn may end with half of it.
    asm.op(Op::Add, 13, 13, 14, 0).op(Op::Lui, 15, 0, 0, 0x1234_5000).op(Op::Addi, 15, 15, 0, 0x67);
    asm.op(Op::Xor, 16, 13, 15, 0).op(Op::Sd, 0, 11, 16, 64).op(Op::AmoaddD, 17, 12, 14, 0);
    let at = asm.0.len() as i64;
    asm.op(Op::Jal, 0, 0, 0, top - at);
    let config = Config { harts: 2, machine: MachineKind::Virt, ram_bytes: 1 << 20, ..Config::default() };
    let [mut fast, mut plain] = [(); 2].map(|()| {
        let mut machine = Machine::new(config.clone()).unwrap();
        machine.write_memory(BASE, &asm.0).unwrap();
        machine
    });
    let seen = [0, 1].map(|hart| {
        let seen: Rc<RefCell<Seen>> = Rc::default();
        let counted = Counted(Translations::new().unwrap(), Rc::clone(&seen));
        fast.set_translator(hart, Box::new(counted), 100);
        seen
    });
    let mut rng = Rng(8);
    for _ in 0..100 {
        let budget = 1 + rng.below(25_000);
        assert_eq!(fast.run(budget, &mut ()), plain.run_reference(budget, &mut ()));
        let state = |machine: &Machine| {
            let registers = (0..32).map(|register| machine.x(register)).collect::<Vec<_>>();
            (machine.pc(), machine.instret(), registers, machine.read_memory(BASE, 1 << 20).unwrap().to_vec())
        };
        assert!(state(&fast) == state(&plain), "after {} instructions", plain.instret());
    }
    let retired = seen.map(|seen| seen.borrow().retired);
    assert!(retired.iter().all(|&retired| retired > 100_000), "{retired:?} of {}", plain.instret());
}

/// The same source for both widths, which computes with types whose sizes do not depend on it.
#[test]
fn a_guest_of_both_widths_has_the_same_result() {
    let programs = [
        &include_bytes!("../../../../guests/riscv/bench/compute.elf")[..],
        include_bytes!("../../../../guests/riscv/bench/compute32.elf"),
    ];
    let [one, other] = programs.map(|program| {
        let elf = Elf::parse(program).unwrap();
        let isa = ISAS[usize::from(elf.xlen == Xlen::Rv32)].parse().unwrap();
        let mut machine = Machine::new(Config { isa, ..Config::default() }).unwrap();
        machine.load(&elf).unwrap();
        let seen: Rc<RefCell<Seen>> = Rc::default();
        let counted = Counted(Translations::new().unwrap(), Rc::clone(&seen));
        machine.set_translator(0, Box::new(counted), tollgate_riscv::tier::SAMPLE);
        let stop = machine.run(u64::MAX, &mut ());
        let (retired, instret) = (seen.borrow().retired, machine.instret());
        assert!(retired > instret / 10 * 9, "{retired} of {instret}");
        stop
    });
    assert!(matches!(one, Stop::Exit { code } if code != 1), "{one:?}");
    assert_eq!(one, other);
}

/// Vectors are the interpreter's, in the middle of code that is not.
#[test]
fn vectors_in_a_hot_loop_are_interpreted() {
    for isa in ["rv64gcv", "rv32gcv"] {
        let mut asm = Asm::default();
        asm.li(9, 0x600).op(Op::Csrrs, 0, 9, 0, MSTATUS).li(9, 5_000);
        // vsetivli x0, 4, e32, m1, ta, ma; then vadd.vx v1, v1, x9.
        asm.word(0xcd02_7057);
        let top = asm.0.len() as i64;
        asm.word(0x0214_c0d7).op(Op::Addi, 10, 10, 0, 3).op(Op::Addi, 9, 9, 0, -1);
        let at = asm.0.len() as i64;
        asm.op(Op::Bne, 0, 9, 0, top - at);
        // vmv.x.s x11, v1
        asm.word(0x4210_25d7);
        finish(&mut asm);
        let (stop, _) = compare(isa, &asm.0, &mut Rng(4), 6_000, "vectors");
        assert_eq!(stop, Stop::Exit { code: 0 });
        let mut plain = machine(isa.parse().unwrap(), &asm.0);
        plain.run_reference(100_000, &mut ());
        // 5,000 + 4,999 + ... + 1.
        assert_eq!((plain.x(10), plain.x(11)), (15_000, 12_502_500));
    }
}
