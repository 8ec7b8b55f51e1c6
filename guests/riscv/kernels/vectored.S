// image: vectored -DKERNEL_M
// image: pair-vectored -DKERNEL_M -DPAIR
// The full save of full-m with mtvec in vectored mode (privileged specification, 3.1.7): an interrupt arrives
// at base + 4 * cause, so its handler is known without reading mcause. Exceptions still share one entry.
#include "asm.h"

        .section .text.trap, "ax"
        .globl  kernel_enter
kernel_enter:
        la      t0, vector_table
        addi    t0, t0, 1
        csrw    mtvec, t0
        la      t0, kernel_stack_top
        csrw    mscratch, t0
        FIRST_TASK

        .balign 256
        .option push
        .option norvc
        PHASE   dispatch
vector_table:
        .globl  trap_vector
trap_vector:
        j       exception
        j       unexpected_trap
        j       unexpected_trap
        j       soft_entry
        .rept   3
        j       unexpected_trap
        .endr
#ifdef PAIR
        j       timer_entry
#else
        j       unexpected_trap
#endif
        .rept   8
        j       unexpected_trap
        .endr
        .option pop

soft_entry:
        ENTER_FULL
        PHASE   dispatch
        call    soft_interrupt
        j       resume
#ifdef PAIR
timer_entry:
        ENTER_FULL
        PHASE   dispatch
        call    timer_interrupt
        j       resume
#endif

exception:
        ENTER_FULL
        PHASE   dispatch
        csrr    t0, mcause
        li      t2, CAUSE_USER_ECALL
        bne     t0, t2, unexpected_trap
        addi    t1, t1, 4
        sd      t1, FRAME_EPC(sp)
        CALL_HANDLER
        sd      a0, 80(sp)
resume:
        PHASE   stack
        addi    t0, sp, FRAME_SIZE
        csrw    mscratch, t0
        PHASE   restore
        RESTORE_FULL
        PHASE   return
        mret
