// image: rtl-programs-rv32 bare -march=rv32im -mabi=ilp32
// image: rtl-programs-rv64 bare
// Whole programs whose cycles are compared with the RTL of cores (xtask/rtl). A word that is written into the image before it
// is loaded chooses one. None of them needs a divider for floating-point numbers, which not all cores have.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long word;

// Enables floating point, sets the stack, jumps to the program, and ends at `done`.
__asm__(
    ".section .text.start, \"ax\"\n"
    ".option norvc\n"
    ".globl _start, done, selected\n"
    "_start:\n"
    ".irp r, ra, gp, tp, t1, t2, t3, t4, t5, t6, s0, s1, a0, a1, a2, a3, a4, a5, a6, a7, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11\n"
    "        li \\r, 0\n"
    ".endr\n"
#if __riscv_xlen == 64
    "        li t0, 0x2000\n"
    "        csrs mstatus, t0\n"
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n"
    "        fmv.d.x f\\n, zero\n"
    ".endr\n"
#endif
    "        la sp, stack + 8192\n"
    "        la t0, selected\n"
#if __riscv_xlen == 64
    "        lw t1, 8(t0)\n"
#else
    "        lw t1, 4(t0)\n"
#endif
    "        la t0, _start\n"
    "        add t0, t0, t1\n"
    "        jalr t0\n"
    "        .balign 64\n"
    "done:   j done\n"
    ".data\n"
    ".balign 64\n"
    "selected:\n"
#if __riscv_xlen == 64
    "        .dword 0x31304c5452, 0\n"
#else
    "        .word 0x304c5452, 0\n"
#endif
    ".text\n");

// A program is a function whose result would differ if anything were left out.
#define PROGRAM(name) \
    word program_##name(void) __asm__("program." #name); \
    word program_##name(void)

u8 stack[8192] __attribute__((aligned(16)));

// Numbers without a pattern (Marsaglia's xorshift).
static u32 seed = 2463534242u;
static u32 random(void) {
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}

#include "../whole/sort.c"
#include "../whole/hash.c"
#include "../whole/matrix.c"
#include "../whole/string.c"
#include "../whole/chase.c"
#include "../whole/mixed.c"
#include "../whole/numbers.c"
#include "../whole/interpreter.c"
#include "../whole/queens.c"
#include "../whole/sieve.c"
