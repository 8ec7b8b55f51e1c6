// image: full
// image: full-m -DKERNEL_M
// image: pair -DKERNEL_M -DPAIR
// The plain kernel: every trap saves all registers, pc and status in a frame on the kernel stack, as the proxy
// kernel and Linux do. Also built for machine mode, where interrupts are not delegated.
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
        SAVE_FULL FRAME_SIZE
        sd      t2, FRAME_STATUS(sp)
        PHASE   dispatch
        csrr    t0, X_CAUSE
        bltz    t0, interrupt
        li      t2, CAUSE_USER_ECALL
        bne     t0, t2, unexpected_trap
        addi    t1, t1, 4
        sd      t1, FRAME_EPC(sp)
        CALL_HANDLER
        sd      a0, 80(sp)
resume:
        PHASE   stack
        addi    t0, sp, FRAME_SIZE
        csrw    X_SCRATCH, t0
        PHASE   restore
        RESTORE_FULL
        PHASE   return
        XRET

        PHASE   dispatch
interrupt:
        // One entry for all causes: software finds the handler.
        slli    t0, t0, 3
        la      t1, interrupt_table
        add     t0, t0, t1
        ld      t0, 0(t0)
        jalr    t0
        j       resume

        .section .rodata
        .balign 8
interrupt_table:
        .dword  unexpected_trap, soft_interrupt, unexpected_trap, soft_interrupt
        .dword  unexpected_trap, unexpected_trap, unexpected_trap, TIMER_HANDLER
        .rept   8
        .dword  unexpected_trap
        .endr
