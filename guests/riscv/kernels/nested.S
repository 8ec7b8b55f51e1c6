// image: nested
// A full save that can itself be interrupted: sscratch is zero while the kernel runs, so the entry knows whether
// it came from the kernel and which stack to use. Interrupts are enabled while a call is handled.
#include "asm.h"

        .section .text.trap, "ax"
        .globl  kernel_enter
kernel_enter:
        la      t0, kernel_stack_top
        csrw    sscratch, t0
        FIRST_TASK

        .balign 4
        .globl  trap_vector
trap_vector:
        PHASE   stack
        csrrw   sp, sscratch, sp
        bnez    sp, 1f
        csrr    sp, sscratch            // from the kernel: continue on its stack
1:
        PHASE   save
        addi    sp, sp, -FRAME_SIZE
        SAVE    sp, ALL_BUT_SP
        csrrw   t0, sscratch, zero
        csrr    t1, sepc
        csrr    t2, sstatus
        sd      t0, 16(sp)
        sd      t1, FRAME_EPC(sp)
        sd      t2, FRAME_STATUS(sp)
        PHASE   dispatch
        csrr    t0, scause
        bltz    t0, interrupt
        li      t2, CAUSE_USER_ECALL
        bne     t0, t2, unexpected_trap
        addi    t1, t1, 4
        sd      t1, FRAME_EPC(sp)
        csrsi   sstatus, STATUS_SIE
        CALL_HANDLER
        csrci   sstatus, STATUS_SIE
        sd      a0, 80(sp)
resume:
        PHASE   stack
        ld      t0, FRAME_STATUS(sp)
        andi    t1, t0, STATUS_SPP
        bnez    t1, 2f                  // return to the kernel: sscratch stays zero
        addi    t1, sp, FRAME_SIZE
        csrw    sscratch, t1
2:
        PHASE   restore
        ld      t1, FRAME_EPC(sp)
        csrw    sstatus, t0
        csrw    sepc, t1
        LOAD    sp, ALL_BUT_SP
        ld      sp, 16(sp)
        PHASE   return
        sret

        PHASE   dispatch
interrupt:
        call    soft_interrupt
        j       resume
