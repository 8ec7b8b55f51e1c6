// image: fp-eager -DEAGER
// image: fp-lazy
// The full save with floating point. Eager: every trap saves and restores 32 registers and fcsr. Lazy:
// a trap saves them only if sstatus.FS is Dirty (privileged specification, 3.1.6.6), marks them Clean, and does
// not restore them, because the kernel uses no floating point.
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
        SAVE_FULL FRAME_SIZE_FP
#ifdef EAGER
        sd      t2, FRAME_STATUS(sp)
        SAVE_FP sp
        csrr    t3, fcsr
        sd      t3, FRAME_FCSR(sp)
#else
        li      t4, STATUS_FS
        and     t5, t2, t4
        bne     t5, t4, 1f              // Dirty: both bits are set
        SAVE_FP sp
        csrr    t3, fcsr
        sd      t3, FRAME_FCSR(sp)
        li      t4, STATUS_FS_CLEAN ^ STATUS_FS
        xor     t2, t2, t4
1:      sd      t2, FRAME_STATUS(sp)
#endif
        PHASE   dispatch
        csrr    t0, X_CAUSE
        bltz    t0, unexpected_trap     // interrupts are checked first, as in full.S
        li      t2, CAUSE_USER_ECALL
        bne     t0, t2, unexpected_trap
        addi    t1, t1, 4
        sd      t1, FRAME_EPC(sp)
        CALL_HANDLER
        sd      a0, 80(sp)
        PHASE   stack
        addi    t0, sp, FRAME_SIZE_FP
        csrw    X_SCRATCH, t0
        PHASE   restore
#ifdef EAGER
        ld      t3, FRAME_FCSR(sp)
        csrw    fcsr, t3
        LOAD_FP sp
#endif
        RESTORE_FULL
        PHASE   return
        XRET
