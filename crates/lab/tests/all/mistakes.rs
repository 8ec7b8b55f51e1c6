//! Mistakes of programs: each ends with a sentence that has the line, the registers and the calls.

use std::fs;

use tollgate_lab::program::{Ending, Job, Outcome, Watch, run};
use tollgate_lab::source::{Recipe, load};
use tollgate_riscv::Isa;

fn outcome(text: &str, max_instructions: u64) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.s");
    fs::write(&path, text).unwrap();
    let mut program = load(&path, &Recipe::new("rv64gc", Isa::default())).unwrap();
    program.needs_stack = false;
    let job = Job { ram_bytes: 8 << 20, program, max_instructions, ..Job::default() };
    let nothing = &mut std::io::empty();
    run(&job, Watch::Nothing, nothing, &mut Vec::new(), &mut Vec::new(), &|| false).unwrap()
}

/// How it is stuck, without the folder.
fn stuck(text: &str) -> String {
    match outcome(text, 1_000_000).ending {
        Ending::Stuck(how) => {
            let words = how.split(' ');
            let short = words.map(|word| match word.rsplit_once("/p.s") {
                Some((_, line)) => format!("(p.s{line}"),
                None => word.to_owned(),
            });
            short.collect::<Vec<_>>().join(" ")
        }
        other => panic!("{other:?}"),
    }
}

/// Behind a first instruction of 2 bytes and a call of 8: what follows it is at 0x80000010.
const END: &str = " li a7, 10\n ecall\n";

#[test]
fn a_fault_names_the_line_the_registers_and_the_calls() {
    let cases: [(&str, &[&str]); 7] = [
        // An unmapped address.
        (
            "f: lw a0, 4(t1)\n ret\n",
            &[
                "load access fault at 0x80000010 in f (p.s:5: f: lw a0, 4(t1)) with t1 = 0x10: there is no memory at 0x14 \
                 (RAM is from 0x80000000 to 0x80800000), and no trap handler is set (mtvec is 0); called from _start (p.s:2)",
            ],
        ),
        // A misaligned one.
        (
            "f: la t0, f\n ld a0, 1(t0)\n ret\n",
            &[
                "load address misaligned at 0x",
                "(p.s:6: ld a0, 1(t0)) with t0 = 0x80000010: 0x80000011 is not aligned",
            ],
        ),
        // A jump into data.
        (
            "f: la t0, table\n jalr t0\n ret\n .data\ntable: .dword 0\n",
            &[
                "illegal instruction at 0x8000101c: `jalr ra,0(t0)` at 0x80000018",
                "in f (p.s:6: jalr t0) with t0 = 0x8000101c goes to 0x8000101c, and there is data (`table`), and no trap handler",
                "; called from f (p.s:6), _start (p.s:2)",
            ],
        ),
        // To nowhere.
        (
            "f: li t0, 64\n jr t0\n",
            &[
                "at 0x40: `jalr zero,0(t0)` at",
                "(p.s:6: jr t0) with t0 = 0x40 goes to 0x40, and there is no memory",
            ],
        ),
        // A wrong return address.
        (
            "f: li ra, 2\n ret\n",
            &["(p.s:6: ret) with ra = 0x2 goes to 0x2, and there is no memory; save ra before another call"],
        ),
        // The end of the code.
        ("f: nop\n .word 0\n", &["illegal instruction at 0x80000012 in f (p.s:6: .word 0)"]),
        // A handler that traps.
        (
            "f: la t0, f\n csrw mtvec, t0\n .word 0\n",
            &[
                "(p.s:7: .word 0) (tval 0x0), and the handler at 0x80000010 in f (p.s:5: f: la t0, f) returns to the same trap for ever",
            ],
        ),
    ];
    for (f, expected) in cases {
        let said = stuck(&format!("_start: li t1, 16\n call f\n{END}{f}"));
        for part in expected {
            assert!(said.contains(part), "{f}: {said}");
        }
    }
}

#[test]
fn a_stack_that_runs_over_is_found_behind_what_it_destroyed() {
    let sum = "sum: addi sp, sp, -16\n sd ra, 0(sp)\n call sum\n ld ra, 0(sp)\n addi sp, sp, 16\n ret\n";
    let within =
        format!("_start: la sp, top\n call sum\n{END}{sum} .bss\n .balign 16\nstack: .skip 64\ntop:\n");
    let said = stuck(&within);
    // The segment behind the code begins in the next page, as far in it as the code ends. Four frames of 16 bytes fit.
    let expected = "the stack runs over: sp becomes 0x80001020 at 0x80000016 in sum (p.s:5: sum: addi sp, sp, -16), below \
                    stack at 0x80001030; called from sum (p.s:7) (4 times), _start (p.s:2)";
    assert_eq!(said, expected);
    // From the end of RAM down into the code.
    let said = stuck(&format!("_start: li sp, 0x80000800\n call sum\n{END}{sum}"));
    assert!(
        said.contains("the stack runs over: sp becomes") && said.contains("below the end of the program"),
        "{said}"
    );
    // Through all of RAM, in a loop that is cached when it overwrites itself: what it then does depends on the engine.
    let said = stuck(&format!("_start: li sp, 0x80100000\n call sum\n{END}{sum}"));
    assert!(said.contains("the stack runs over: sp becomes 0x80000020 at"), "{said}");
    // A stack that is used up to its end has not run over.
    let said = stuck(
        "_start: la sp, top\n addi sp, sp, -64\n lw a0, 0(zero)\n .bss\n .balign 16\nstack: .skip 64\ntop:\n",
    );
    assert!(said.starts_with("load access fault"), "{said}");
}

#[test]
fn an_endless_loop_names_its_line_and_a_return_without_its_address() {
    let said = stuck(&format!("_start: li t0, 10\n call f\n{END}f: beqz t0, 1f\n j f\n1: ret\n"));
    let expected = "the program repeats the 2 instructions from 0x80000010 in f (p.s:5: f: beqz t0, 1f) with t0 = 0xa for ever: they \
                    change nothing, and no interrupt can come; called from _start (p.s:2)";
    assert!(said.contains(expected), "{said}");
    let said = stuck(&format!("_start: call f\n{END}f: call g\n ret\ng: ret\n"));
    let expected =
        "in f (p.s:5: ret) goes to f (p.s:5) for ever, where no call continues; save ra before another call";
    assert!(said.contains(expected), "{said}");
    let said = outcome("_start: li t0, 1\n1: addi t0, t0, 1\n bnez t0, 1b\n", 100_000).verdict();
    assert!(
        said.contains(
            "has not ended after 100,000 instructions; --max-instructions gives it more; it is at 0x80000004"
        ),
        "{said}"
    );
}
