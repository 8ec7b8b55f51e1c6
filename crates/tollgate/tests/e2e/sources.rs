//! Sources in place of programs: every command that takes a program takes `.s`, `.S`, `.c`, and answers mistakes with sentences.

use crate::case::{CASE, Case, go_through};
use crate::scene::Scene;
use tollgate_testkit::program;

#[test]
fn sources() {
    go_through("e2e::sources::sources", CASES);
}

/// Linux's hello.
const HELLO: &str = "    .globl _start
_start:
    li a7, 64
    li a0, 1
    la a1, text
    li a2, 6
    ecall
    li a7, 93
    li a0, 7
    ecall
    .data
text: .ascii \"hello\\n\"
";

/// A loop of Ripes: no `_start`, calls of RARS, and it runs off its end.
const LOOP: &str = ".text
main:
    li a0, 0
    li t0, 5
again:
    add a0, a0, t0
    addi t0, t0, -1
    bnez t0, again
    li a7, 1
    ecall
    li a7, 11
    li a0, '\\n'
    ecall
    nop
";

const CONTEXT_SWITCH: &str = "#include <stdio.h>
#include <stdint.h>
#include <sys/syscall.h>
static inline uint64_t rdcycle(void) { uint64_t c; __asm__ volatile(\"rdcycle %0\" : \"=r\"(c)); return c; }
int main(void) {
    register long a7 __asm__(\"a7\") = SYS_getpid;
    register long a0 __asm__(\"a0\");
    uint64_t start = rdcycle();
    __asm__ volatile(\"ecall\" : \"=r\"(a0) : \"r\"(a7) : \"memory\");
    uint64_t end = rdcycle();
    long pid = a0;
    printf(\"getpid %ld: %lu cycles\\n\", pid, (unsigned long)(end - start));
    return 0;
}
";

/// C needs a compiler.
fn c(scene: &Scene, name: &str, text: &str) -> Result<(), String> {
    scene.file(name, text);
    match ["riscv64-unknown-elf-gcc", "riscv64-linux-gnu-gcc"].iter().any(|name| program(name).is_some()) {
        true => Ok(()),
        false => Err("no C compiler for RISC-V: apt-get install gcc-riscv64-unknown-elf".into()),
    }
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "assembly is run",
        args: "riscv run {dir}/hello.s",
        exit: 7,
        prints: &["hello"],
        says: &["ended with status 7 after 8 instructions"],
        scene: |scene| {
            scene.file("hello.s", HELLO);
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "assembly with a main prints as in RARS and ends where its code does",
        args: "riscv run {dir}/loop.asm --isa rv32im",
        prints: &["15"],
        scene: |scene| {
            scene.file("loop.asm", LOOP);
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "preprocessed assembly with an included file",
        args: "riscv run {dir}/main.S",
        exit: 42,
        scene: |scene| {
            scene.file("main.S", "#include \"status.h\"\n_start: li a0, STATUS\n li a7, 93\n ecall\n");
            scene.file("status.h", "#define STATUS 42\n");
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "assembly that calls printf",
        args: "riscv run {dir}/print.s",
        prints: &["number 42"],
        scene: |scene| {
            scene.file(
                "print.s",
                "main: la a0, format\n li a1, 42\n call printf\n li a0, 0\n call exit\n .data\nformat: .asciz \"number %d\\n\"\n",
            );
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "C with printf is run without a proxy kernel",
        args: "riscv run {dir}/ctx_switch.c",
        prints: &["getpid 1: 47 cycles"],
        scene: |scene| c(scene, "ctx_switch.c", CONTEXT_SWITCH),
        ..CASE
    },
    Case {
        name: "C that returns a status, on a machine without multiplication",
        args: "riscv run {dir}/sum.c --isa rv32i",
        exit: 55,
        scene: |scene| {
            c(
                scene,
                "sum.c",
                "int main() { int sum = 0; for (int i = 1; i <= 10; i++) sum += i; return sum; }",
            )
        },
        ..CASE
    },
    Case {
        name: "C on a core",
        args: "riscv run {dir}/sum.c --core rocket --no-save",
        exit: 3,
        prints: &["main"],
        scene: |scene| c(scene, "sum.c", "int main() { return 3; }"),
        ..CASE
    },
    Case {
        name: "assembly in the diagram, from its beginning",
        args: "riscv pipeline {dir}/loop.s --count 6 --no-save",
        prints: &["addi a0,zero,0", "main"],
        scene: |scene| {
            scene.file("loop.s", LOOP);
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "assembly with caches under it",
        args: "riscv icache {dir}/loop.s --no-save",
        prints: &["rv32im rv32imc"],
        scene: |scene| {
            scene.file("loop.s", LOOP);
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "assembly as a workload",
        args: "riscv trap --workload {dir}/work.s --set 4 --kernel-touch 0 --every 1000 --no-save",
        prints: &["work.s"],
        scene: |scene| {
            scene.file("work.s", ".globl work\nwork: lw t0, 0(a0)\n addi t0, t0, 1\n sw t0, 0(a0)\n ret\n");
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "a workload without work",
        args: "riscv trap --workload {dir}/work.s --no-save",
        exit: 2,
        says: &["it has no function work; write one: void work(char *set, unsigned long bytes)"],
        scene: |scene| {
            scene.file("work.s", "wrok: ret\n");
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "all mistakes in assembly at once",
        args: "riscv run {dir}/bad.s",
        exit: 126,
        says: &[
            "bad.s:2:5: unknown instruction `adi`: did you mean `addi`?",
            "2 | adi a0, a0, 1",
            "bad.s:3:",
            "bad.s:4:7: `lop` is not defined: did you mean `loop`?",
            "3 errors",
        ],
        scene: |scene| {
            scene.file("bad.s", "loop:\n    adi a0, a0, 1\n    addi a0, a0, 5000\n    j lop\n");
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "a mistake in assembly, for the diagram",
        args: "riscv pipeline {dir}/bad.s",
        exit: 2,
        says: &["bad.s:1:1: unknown instruction `mvoe`"],
        scene: |scene| {
            scene.file("bad.s", "mvoe a0, a1\n");
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "a mistake in C is the compiler's",
        args: "riscv run {dir}/bad.c",
        exit: 126,
        says: &["refused the source for rv64gc", "bad.c:1:"],
        scene: |scene| c(scene, "bad.c", "int main() { return x; }"),
        ..CASE
    },
    Case {
        name: "C without a main",
        args: "riscv run {dir}/bad.c",
        exit: 126,
        says: &["bad.c: the source has no _start or main, where a program begins"],
        scene: |scene| c(scene, "bad.c", "int mian() { return 0; }"),
        ..CASE
    },
    Case {
        name: "C with its own start that uses the library",
        args: "riscv run {dir}/start.c",
        exit: 4,
        prints: &["started"],
        scene: |scene| {
            let text =
                "#include <stdio.h>\n#include <stdlib.h>\nvoid _start(void) { puts(\"started\"); exit(4); }";
            c(scene, "start.c", text)
        },
        ..CASE
    },
    Case {
        name: "C without a compiler",
        args: "riscv run {dir}/sum.c",
        exit: 126,
        says: &[
            "no C compiler for RISC-V is on PATH: apt-get install gcc-riscv64-unknown-elf (or clang and lld)",
        ],
        scene: |scene| {
            scene.file("sum.c", "int main() { return 0; }");
            scene.env("PATH", Some("/nowhere"));
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "assembly that is not text",
        args: "riscv run {dir}/bad.s",
        exit: 126,
        says: &["bad.s: line 2 is not valid UTF-8: save the file as UTF-8 text"],
        scene: |scene| {
            scene.file("bad.s", b"nop\n# \xe9t\xe9\n");
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "an included file that is missing",
        args: "riscv run {dir}/main.S",
        exit: 126,
        says: &["main.S:1:", "there is no file `status.h`"],
        scene: |scene| {
            scene.file("main.S", "#include \"status.h\"\nnop\n");
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "C++ in place of a program",
        args: "riscv run {dir}/a.cpp",
        exit: 126,
        says: &["a.cpp' is C++ source: compile and link it first: riscv64-linux-gnu-g++ -O2 -static -o"],
        scene: |scene| {
            scene.file("a.cpp", "int main() {}");
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "a load from nowhere names its line",
        args: "riscv run {dir}/bad.s",
        exit: 125,
        says: &["load access fault", "in main", "bad.s:3: lw a0, 0(t0))"],
        scene: |scene| {
            scene.file("bad.s", "main:\n    li t0, 16\n    lw a0, 0(t0)\n");
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "a loop without an end names its line",
        args: "riscv run {dir}/bad.s",
        exit: 125,
        says: &["jumps to itself", "bad.s:2: here: j here)"],
        scene: |scene| {
            scene.file("bad.s", "    nop\nhere: j here\n");
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "a call of Linux that nobody answers",
        args: "riscv run {dir}/open.s",
        exit: 125,
        says: &["with 56 in a7, and no trap handler: 10 and 93 end a bare program, 64 writes"],
        scene: |scene| {
            scene.file("open.s", "_start: li a7, 56\n ecall\n");
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "a source in place of a proxy kernel",
        args: "riscv run --pk {dir}/pk.s {dir}/pk.s",
        exit: 126,
        says: &["pk.s: is a source, and a linked program is needed here"],
        scene: |scene| {
            scene.file("pk.s", "nop\n");
            Ok(())
        },
        ..CASE
    },
];
