//! Code and mappings that change: what the fast engine has cached must not show.

use crate::common::Asm;
use tollgate_riscv::{Config, Insn, Machine, Op, Operands};

const BASE: u64 = 0x8000_0000;
const SATP: i64 = 0x180;

fn addi(rd: u8, imm: i64) -> u32 {
    Insn::encode(Op::Addi, Operands { rd, imm, ..Default::default() })
}

fn machine(code: &Asm) -> Machine {
    let mut m = Machine::new(Config { ram_bytes: 4 << 20, ..Config::default() }).unwrap();
    m.write_memory(BASE, &code.0).unwrap();
    // a1 holds the device tree's address at reset.
    m.set_x(11, 0);
    m
}

/// Runs on both engines and hands each machine to the check. The machines may be prepared.
fn both(code: &Asm, prepare: impl Fn(&mut Machine), budget: u64, check: impl Fn(&Machine)) {
    for reference in [true, false] {
        let mut m = machine(code);
        prepare(&mut m);
        let _ = if reference { m.run_reference(budget, &mut ()) } else { m.run(budget, &mut ()) };
        check(&m);
    }
}

/// A loop that calls a function, overwrites its first instruction and calls it again, a hundred times.
#[test]
fn code_that_rewrites_itself_runs_anew_after_fence_i() {
    const FUNCTION: i64 = 0x400;
    let (s0, s1, a0, a1, t0, t1) = (8, 9, 10, 11, 5, 6);
    let mut code = Asm::default();
    // a1 collects: each pass the function adds the number that was patched in.
    code.op(Op::Jalr, 1, s0, 0, 0).op(Op::Add, a1, a1, a0, 0);
    code.op(Op::Lw, t0, s0, 0, 0).op(Op::Lui, t1, 0, 0, 0x10_0000).op(Op::Add, t0, t0, t1, 0);
    code.op(Op::Sw, 0, s0, t0, 0).op(Op::FenceI, 0, 0, 0, 0);
    code.op(Op::Addi, s1, s1, 0, -1).op(Op::Bne, 0, s1, 0, -32).op(Op::Jal, 0, 0, 0, 0);
    code.0.resize(FUNCTION as usize, 0);
    code.word(addi(a0, 0)).op(Op::Jalr, 0, 1, 0, 0);
    let prepare = |m: &mut Machine| {
        m.set_x(s0, BASE + FUNCTION as u64);
        m.set_x(s1, 100);
    };
    // 0 + 1 + ... + 99
    both(&code, prepare, 5000, |m| assert_eq!(m.x(a1), 4950));
}

#[test]
fn a_debuggers_write_is_seen() {
    let mut code = Asm::default();
    code.word(addi(5, 1)).op(Op::Jal, 0, 0, 0, -4);
    let mut m = machine(&code);
    m.run(1000, &mut ());
    assert_eq!(m.x(5), 1);
    m.write_memory(BASE, &addi(5, 2).to_le_bytes()).unwrap();
    m.run(1000, &mut ());
    assert_eq!(m.x(5), 2);
}

const ROOT: u64 = BASE + 0x10_0000;
const MIDDLE: u64 = ROOT + 0x1000;
const LEAVES: u64 = ROOT + 0x2000;
const PAGE_A: u64 = ROOT + 0x8000;
const PAGE_B: u64 = ROOT + 0x9000;
/// The virtual page that is mapped now here, now there.
const WINDOW: u64 = 0x4000_0000;

fn pte(pa: u64, bits: u64) -> u64 {
    pa >> 12 << 10 | bits
}

/// Tables that map RAM to itself and the window to page A, with the given bits.
fn tables(m: &mut Machine, root: u64, window: u64) {
    let mut put = |at: u64, v: u64| m.write_memory(at, &v.to_le_bytes()).unwrap();
    put(root + 8 * 2, pte(BASE, 0xcf));
    put(root + 8, pte(MIDDLE + (root - ROOT), 1));
    put(MIDDLE + (root - ROOT), pte(LEAVES + (root - ROOT), 1));
    put(LEAVES + (root - ROOT), window);
}

/// Enters S-mode at `BASE + 0x100` with the tables on. s2 holds satp's value.
fn enter() -> Asm {
    let mut a = Asm::default();
    a.csrw(SATP, 18).op(Op::SfenceVma, 0, 0, 0, 0).li(5, 0x0800).csrw(0x300, 5);
    a.op(Op::Auipc, 5, 0, 0, 0);
    let here = a.here() as i64 - 4;
    a.op(Op::Addi, 5, 5, 0, 0x100 - here).csrw(0x341, 5).op(Op::Mret, 0, 0, 0, 0);
    a.0.resize(0x100, 0);
    a
}

fn satp(root: u64, asid: u64) -> u64 {
    8 << 60 | asid << 44 | root >> 12
}

/// s0 the window, s1 its PTE's address, s3 and s4 the two PTEs, s5 the number of rounds.
fn remap(m: &mut Machine, bits: u64) {
    tables(m, ROOT, pte(PAGE_A, bits));
    m.write_memory(PAGE_A, &[addi(10, 1), 0x0000_8067].map(u32::to_le_bytes).concat()).unwrap();
    m.write_memory(PAGE_B, &[addi(10, 2), 0x0000_8067].map(u32::to_le_bytes).concat()).unwrap();
    for (r, v) in [
        (8, WINDOW),
        (9, LEAVES),
        (18, satp(ROOT, 0)),
        (19, pte(PAGE_A, bits)),
        (20, pte(PAGE_B, bits)),
        (21, 50),
    ] {
        m.set_x(r, v);
    }
}

#[test]
fn sfence_vma_makes_new_mappings_hold_for_code_and_data() {
    let mut code = enter();
    // Call and load through the window; map the other page; fence; again.
    code.op(Op::Jalr, 1, 8, 0, 0).op(Op::Add, 11, 11, 10, 0).op(Op::Lw, 12, 8, 0, 0).op(
        Op::Add,
        13,
        13,
        12,
        0,
    );
    code.op(Op::Sd, 0, 9, 20, 0).op(Op::SfenceVma, 0, 0, 0, 0);
    code.op(Op::Addi, 5, 19, 0, 0).op(Op::Addi, 19, 20, 0, 0).op(Op::Addi, 20, 5, 0, 0);
    code.op(Op::Addi, 21, 21, 0, -1).op(Op::Bne, 0, 21, 0, -40).op(Op::Jal, 0, 0, 0, 0);
    let data = 25 * (u64::from(addi(10, 1)) + u64::from(addi(10, 2)));
    both(
        &code,
        |m| remap(m, 0xcf),
        3000,
        |m| {
            assert_eq!(m.x(11), 25 + 50, "calls");
            assert_eq!(m.x(13), data, "loads");
        },
    );
}

#[test]
fn sfence_vma_of_an_address_makes_the_new_mapping_of_its_page_hold() {
    // What the fence names: the window's page, another address in it, or another small page in the large one that the window is in.
    const LARGE_A: u64 = BASE;
    const LARGE_B: u64 = BASE + 0x20_0000;
    const DATA: u64 = 0x18_0000;
    for (fetches, named, large) in
        [(true, 0, false), (false, 0, false), (false, 0x123, false), (false, 0x10_0000, true)]
    {
        let mut code = enter();
        if fetches {
            code.op(Op::Jalr, 1, 8, 0, 0).op(Op::Add, 11, 11, 10, 0);
        }
        code.op(Op::Lw, 12, 8, 0, 0).op(Op::Add, 13, 13, 12, 0).op(Op::Lw, 14, 8, 0, 0).op(
            Op::Sw,
            0,
            8,
            14,
            0,
        );
        code.op(Op::Sd, 0, 9, 20, 0).op(Op::SfenceVma, 0, 24, 0, 0);
        code.op(Op::Addi, 5, 19, 0, 0).op(Op::Addi, 19, 20, 0, 0).op(Op::Addi, 20, 5, 0, 0);
        code.op(Op::Addi, 21, 21, 0, -1).op(Op::Bne, 0, 21, 0, if fetches { -48 } else { -40 });
        code.op(Op::Jal, 0, 0, 0, 0);
        let prepare = |m: &mut Machine| {
            remap(m, 0xcf);
            m.set_x(24, WINDOW + named);
            if large {
                m.write_memory(MIDDLE, &pte(LARGE_A, 0xcf).to_le_bytes()).unwrap();
                m.write_memory(LARGE_A + DATA, &3u32.to_le_bytes()).unwrap();
                m.write_memory(LARGE_B + DATA, &40u32.to_le_bytes()).unwrap();
                for (r, v) in
                    [(8, WINDOW + DATA), (9, MIDDLE), (19, pte(LARGE_A, 0xcf)), (20, pte(LARGE_B, 0xcf))]
                {
                    m.set_x(r, v);
                }
            }
        };
        let words = if large { [3, 40] } else { [addi(10, 1), addi(10, 2)].map(u64::from) };
        both(&code, prepare, 3000, |m| {
            assert_eq!(m.x(13), 25 * (words[0] + words[1]), "loads, {fetches} {named:#x}");
            assert_eq!(m.x(11), if fetches { 25 + 50 } else { 0 }, "calls, {named:#x}");
        });
    }
}

/// Ten address spaces, more than the engine keeps at a time, told apart by root and ASID, switched without a
/// fence.
#[test]
fn address_spaces_are_kept_apart_without_fences() {
    const LIST: u64 = ROOT + 0x6000;
    let mut code = enter();
    // s6 walks a list of satp values; each space has a page of its own in the window.
    code.op(Op::Addi, 22, 23, 0, 0);
    code.op(Op::Ld, 5, 22, 0, 0).op(Op::Beq, 0, 5, 0, 24).csrw(SATP, 5);
    code.op(Op::Lw, 12, 8, 0, 0).op(Op::Add, 13, 13, 12, 0).op(Op::Addi, 22, 22, 0, 8).op(
        Op::Jal,
        0,
        0,
        0,
        -24,
    );
    code.op(Op::Addi, 21, 21, 0, -1).op(Op::Bne, 0, 21, 0, -36).op(Op::Jal, 0, 0, 0, 0);
    let prepare = |m: &mut Machine| {
        let mut list = Vec::new();
        for space in 0..10u64 {
            let root = ROOT + space * 0x1_0000;
            let page = root + 0x8000;
            tables(m, root, pte(page, 0xcf));
            m.write_memory(page, &(1u32 << space).to_le_bytes()).unwrap();
            list.extend(satp(root, space).to_le_bytes());
        }
        list.extend(0u64.to_le_bytes());
        m.write_memory(LIST, &list).unwrap();
        for (r, v) in [(8, WINDOW), (18, satp(ROOT, 0)), (21, 5), (23, LIST)] {
            m.set_x(r, v);
        }
    };
    // Five rounds over ten spaces, each of which contributes its own bit.
    both(&code, prepare, 1000, |m| assert_eq!(m.x(13), 5 * 1023));
}

#[test]
fn page_permissions_hold_when_the_page_is_cached_for_something_else() {
    // A load fills the load TLB; a store to the read-only page must still fault, and so must one to a page
    // whose D bit is clear.
    for bits in [0x43, 0x47] {
        let mut code = enter();
        code.op(Op::Lw, 12, 8, 0, 0).op(Op::Lw, 12, 8, 0, 4).op(Op::Sw, 0, 8, 12, 8);
        both(
            &code,
            |m| remap(m, bits),
            12,
            |m| {
                assert_eq!((m.csr(0x342), m.csr(0x343)), (Some(15), Some(WINDOW + 8)));
                assert_eq!(m.x(12), 0x8067);
            },
        );
    }
}

#[test]
fn more_code_than_the_arena_holds() {
    // 60,000 blocks of two instructions each, run twice: the arena must start over without losing its way.
    let mut code = Asm::default();
    for _ in 0..60_000 {
        code.op(Op::Addi, 5, 5, 0, 1).op(Op::Beq, 0, 0, 0, 8).word(0);
    }
    let end = code.here() as i64;
    code.op(Op::Addi, 6, 6, 0, 1)
        .op(Op::Addi, 7, 0, 0, 2)
        .op(Op::Beq, 0, 6, 7, 8)
        .op(Op::Jalr, 0, 8, 0, 0)
        .op(Op::Jal, 0, 0, 0, 0);
    assert!(end < 1 << 20);
    both(&code, |m| m.set_x(8, BASE), 250_000, |m| assert_eq!(m.x(5), 120_000));
}
