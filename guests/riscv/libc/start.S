# Starts a bare C program in machine mode: stack, global pointer, trap handler; then main, then exit with its result.
#
# An ecall is answered as Linux answers it (a7 is the number): the handler saves the registers that C may change,
# calls answer_ecall, restores and returns behind the ecall. Any other trap is left to the machine: without a handler
# the instruction traps again.
#if __riscv_xlen == 64
#define STORE sd
#define LOAD ld
#define WIDTH 8
#else
#define STORE sw
#define LOAD lw
#define WIDTH 4
#endif

    .section .text.library, "ax"
    .globl _start
_start:
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la sp, __stack_top
#ifdef __riscv_flen
    # The unit for floating point is off at reset (mstatus.FS).
    li t0, 0x2000
    csrs mstatus, t0
#endif
#ifdef __riscv_vector
    # So is that for vectors (mstatus.VS).
    li t0, 0x200
    csrs mstatus, t0
#endif
    la t0, __trap
    csrw mtvec, t0
    li a0, 0
    li a1, 0
    call main
    call exit

    .balign 4
__trap:
    addi sp, sp, -16 * WIDTH
    STORE ra, 0 * WIDTH(sp)
    STORE t0, 1 * WIDTH(sp)
    STORE t1, 2 * WIDTH(sp)
    STORE t2, 3 * WIDTH(sp)
    STORE a1, 4 * WIDTH(sp)
    STORE a2, 5 * WIDTH(sp)
    STORE a3, 6 * WIDTH(sp)
    STORE a4, 7 * WIDTH(sp)
    STORE a5, 8 * WIDTH(sp)
    STORE a6, 9 * WIDTH(sp)
    STORE a7, 10 * WIDTH(sp)
    STORE t3, 11 * WIDTH(sp)
    STORE t4, 12 * WIDTH(sp)
    STORE t5, 13 * WIDTH(sp)
    STORE t6, 14 * WIDTH(sp)
    csrr t0, mcause
    li t1, 11
    bne t0, t1, 1f
    csrr t0, mepc
    addi t0, t0, 4
    csrw mepc, t0
    mv a3, a7
    call answer_ecall
    j 2f
    # Not an ecall: the machine reports what traps without a handler.
1:  csrw mtvec, zero
2:  LOAD ra, 0 * WIDTH(sp)
    LOAD t0, 1 * WIDTH(sp)
    LOAD t1, 2 * WIDTH(sp)
    LOAD t2, 3 * WIDTH(sp)
    LOAD a1, 4 * WIDTH(sp)
    LOAD a2, 5 * WIDTH(sp)
    LOAD a3, 6 * WIDTH(sp)
    LOAD a4, 7 * WIDTH(sp)
    LOAD a5, 8 * WIDTH(sp)
    LOAD a6, 9 * WIDTH(sp)
    LOAD a7, 10 * WIDTH(sp)
    LOAD t3, 11 * WIDTH(sp)
    LOAD t4, 12 * WIDTH(sp)
    LOAD t5, 13 * WIDTH(sp)
    LOAD t6, 14 * WIDTH(sp)
    addi sp, sp, 16 * WIDTH
    mret

    .bss
    .balign 16
    .space 1 << 20
__stack_top:
