// image: stack
// For a machine that saves registers in hardware as Cortex-M does (our extension xtollstack): the trap stores the
// caller-saved registers and the return loads them, so the handler can be a C function. The result is written into
// the frame, from where the return loads it.
#include "asm.h"

#define STOLLSP 0x5c1
#define STOLLSP_EN 1
#define FRAME_A0 (4 * 8)

        .section .text.trap, "ax"
        .globl  kernel_enter
kernel_enter:
        la      t0, kernel_stack_top
        csrw    sscratch, t0
        la      t0, frames_top
        ori     t0, t0, STOLLSP_EN
        csrw    STOLLSP, t0
        FIRST_TASK

        .balign 4
        .globl  trap_vector
trap_vector:
        PHASE   stack
        csrrw   sp, sscratch, sp
        PHASE   dispatch
        csrr    t0, scause
        bltz    t0, unexpected_trap     // interrupts are checked first, as in full.S
        li      t2, CAUSE_USER_ECALL
        bne     t0, t2, unexpected_trap
        csrr    t1, sepc
        addi    t1, t1, 4
        csrw    sepc, t1
        CALL_HANDLER
        csrr    t0, STOLLSP
        andi    t0, t0, -16
        sd      a0, FRAME_A0(t0)
        PHASE   stack
        csrrw   sp, sscratch, sp
        PHASE   return
        sret

        .bss
        .balign 16
        .skip   1024
frames_top:
