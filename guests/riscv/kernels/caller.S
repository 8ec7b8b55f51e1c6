// image: caller
// Saves only the caller-saved registers: the handler preserves the others. The user's stack pointer stays in
// sscratch, its pc in sepc, and sstatus is not changed. This is correct while nothing traps inside the kernel and
// no task is switched.
#include "asm.h"

        .section .text.trap, "ax"
        .globl  kernel_enter
kernel_enter:
        la      t0, kernel_stack_top
        csrw    X_SCRATCH, t0
        FIRST_TASK

        .balign 4
        .globl  trap_vector
trap_vector:
        PHASE   stack
        csrrw   sp, X_SCRATCH, sp
        PHASE   save
        addi    sp, sp, -FRAME_SIZE
        SAVE    sp, CALLER_SAVED
        PHASE   dispatch
        csrr    t0, X_CAUSE
        bltz    t0, unexpected_trap     // interrupts are checked first, as in full.S
        li      t2, CAUSE_USER_ECALL
        bne     t0, t2, unexpected_trap
        csrr    t1, X_EPC
        addi    t1, t1, 4
        csrw    X_EPC, t1
        CALL_HANDLER
        sd      a0, 80(sp)
        PHASE   restore
        LOAD    sp, CALLER_SAVED
        addi    sp, sp, FRAME_SIZE
        PHASE   stack
        csrrw   sp, X_SCRATCH, sp
        PHASE   return
        XRET
