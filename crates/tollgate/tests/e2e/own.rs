//! A student's own kernel, and the mistakes of a student's program: each is a sentence with the line.

use crate::case::{CASE, Case, go_through};
use crate::scene::Scene;
use tollgate_lab::own::TEMPLATE;

#[test]
fn own() {
    go_through("e2e::own::own", CASES);
}

/// The template with another text in one place.
fn kernel(scene: &mut Scene, old: &str, new: &str) -> Result<(), String> {
    assert!(TEMPLATE.contains(old), "{old}");
    scene.file("mine.s", TEMPLATE.replacen(old, new, 1));
    Ok(())
}

/// A program that calls `f`, which is in the lines from 5 on.
macro_rules! program {
    ($f:literal) => {
        |scene| {
            scene.file(
                "p.s",
                concat!(
                    "_start: la sp, top\n call f\n li a7, 10\n ecall\n",
                    $f,
                    "\n .bss\n .balign 16\n .skip 4096\ntop:\n"
                ),
            );
            Ok(())
        }
    };
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "a kernel to start from",
        args: "riscv trap --kernel template",
        prints: &[".globl trap_entry", "phase_save:", "mret"],
        ..CASE
    },
    Case {
        name: "an own kernel beside bundled ones",
        args: "riscv trap --kernel {dir}/mine.s --kernel caller --kernel full --no-save",
        prints: &[
            "mine.s 48 15 15 120 M-mode, your own",
            "caller 60",
            "Against the 98 instructions of a full save: mine.s 48 (-51 %), saving only",
        ],
        scene: |scene| kernel(scene, "", ""),
        ..CASE
    },
    Case {
        name: "an own kernel on every core",
        args: "riscv trap --kernel {dir}/mine.s --kernel full --core all --iterations 10 --no-save",
        prints: &["rocket mine.s getpid", "cva6 mine.s getpid", "vexriscv full getpid"],
        scene: |scene| kernel(scene, "", ""),
        ..CASE
    },
    Case {
        name: "an own kernel that loses a register that nobody here needs",
        args: "riscv trap --kernel {dir}/mine.s --no-save",
        says: &["{dir}/mine.s: a call loses t0; in Linux it loses a0 only"],
        prints: &["total 47"],
        scene: |scene| kernel(scene, "ld      t0, 8(sp)", ""),
        ..CASE
    },
    Case {
        name: "an own kernel that returns to the call",
        args: "riscv trap --kernel {dir}/mine.s",
        exit: 2,
        says: &[
            "mine.s: the return at ",
            "goes to the ecall itself, which would trap for ever: add 4 to mepc",
        ],
        scene: |scene| kernel(scene, "addi    t0, t0, 4", ""),
        ..CASE
    },
    Case {
        name: "an own kernel that does not assemble",
        args: "riscv trap --kernel {dir}/mine.s",
        exit: 2,
        says: &["unknown instruction `mrte`: did you mean `mret`?", "1 error"],
        scene: |scene| kernel(scene, "        mret", "        mrte"),
        ..CASE
    },
    Case {
        name: "a kernel that there is not",
        args: "riscv trap --kernel fulll",
        exit: 2,
        says: &["--kernel fulll: no such design, and no such file; use all, one of full, "],
        ..CASE
    },
    Case {
        name: "the stages of an own kernel",
        args: "riscv pipeline --kernel {dir}/mine.s --at trap_entry --count 4 --no-save",
        prints: &["csrrw sp,mscratch,sp", "4 instructions from trap_entry on"],
        scene: |scene| kernel(scene, "", ""),
        ..CASE
    },
    Case {
        name: "a program that jumps into data",
        args: "riscv run {dir}/p.s",
        exit: 125,
        says: &[
            "p.s:6: jalr t0) with t0",
            "there is data (`top`), and no trap handler is set",
            "called from f (",
        ],
        scene: |scene| {
            scene.file(
                "p.s",
                "_start: nop\n call f\n li a7, 10\n ecall\nf: la t0, top\n jalr t0\n .data\ntop: .dword 0\n",
            );
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "a program that loads from nowhere",
        args: "riscv run {dir}/p.s",
        exit: 125,
        says: &[
            "load access fault at",
            "p.s:6: lw a0, 4(t0)) with t0 = 0x10: there is no memory at 0x14",
            "no trap handler is set (mtvec is 0); called from _start (",
        ],
        scene: program!("f: li t0, 16\n lw a0, 4(t0)\n ret"),
        ..CASE
    },
    Case {
        name: "a program that loads between words",
        args: "riscv run {dir}/p.s",
        exit: 125,
        says: &["load address misaligned at", "p.s:6: lw a0, 1(t0)) with t0", "--misaligned executes it"],
        scene: program!("f: la t0, f\n lw a0, 1(t0)\n ret"),
        ..CASE
    },
    Case {
        name: "a program whose stack runs over",
        args: "riscv run {dir}/p.s",
        exit: 125,
        says: &[
            "the stack runs over: sp becomes",
            "p.s:5: f: addi sp, sp, -32",
            "called from f (",
            "_start (",
        ],
        scene: program!("f: addi sp, sp, -32\n sd ra, 0(sp)\n call f\n ret"),
        ..CASE
    },
    Case {
        name: "a program that returns without its return address",
        args: "riscv run {dir}/p.s",
        exit: 125,
        says: &["the return at", "p.s:6: ret) goes to f (", "save ra before another call"],
        scene: program!("f: call g\n ret\ng: ret"),
        ..CASE
    },
    Case {
        name: "a program with a wrong return address",
        args: "riscv run {dir}/p.s",
        exit: 125,
        says: &[
            "instruction access fault at 0x2",
            "p.s:6: ret) with ra = 0x2",
            "save ra before another call",
        ],
        scene: program!("f: li ra, 2\n ret"),
        ..CASE
    },
    Case {
        name: "a program that loops for ever",
        args: "riscv run {dir}/p.s",
        exit: 125,
        says: &["p.s:6: 1: beqz t0, 1b) with t0 = 0x0", "called from _start ("],
        scene: program!("f: li t0, 0\n1: beqz t0, 1b\n ret"),
        ..CASE
    },
    Case {
        name: "a program that counts for ever",
        args: "riscv run {dir}/p.s --max-instructions 100000",
        exit: 124,
        says: &["has not ended after 100,000 instructions", "it is at", "in f ("],
        scene: program!("f: addi t0, t0, 1\n j f"),
        ..CASE
    },
];
