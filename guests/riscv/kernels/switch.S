// image: switch-same
// image: switch-space -DSPACE -DFLUSH
// image: switch-asid -DSPACE
// The full context switch: two user tasks, each with a context block that sscratch points to while it runs.
// sched_yield and the timer save one context and load the other. The two share an address space, or have two with a
// flush of the TLB, or two whose identifiers make the flush unnecessary.
#include "asm.h"

        .section .text.trap, "ax"
        .globl  kernel_enter
kernel_enter:
        la      t0, contexts
        la      t1, contexts + FRAME_SIZE
        sd      t1, FRAME_NEXT(t0)
        sd      t0, FRAME_NEXT(t1)
        la      t2, user_partner
        sd      t2, FRAME_EPC(t1)
        csrr    t2, sstatus
        sd      t2, FRAME_STATUS(t1)
#ifdef SPACE
        // The same addresses with other memory.
        li      t2, 0x80600000
        ld      t3, first_satp
        ld      t4, second_satp
        sd      t3, FRAME_SATP(t0)
        sd      t4, FRAME_SATP(t1)
#else
        li      t2, 0x80800000
#endif
        sd      t2, 16(t1)
        csrw    sscratch, t0
        la      t0, user_start
        csrw    sepc, t0
        // The timer ticks only if a parameter of the image enables it; see boot.c.
        ld      t0, toll_wants_timer
        beqz    t0, 1f
        li      a0, SLICE_TICKS
        ecall
1:      li      sp, 0x80600000
        sret

        .balign 4
        .globl  trap_vector
trap_vector:
        PHASE   save
        csrrw   t6, sscratch, t6
        SAVE    t6, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30
        csrr    t0, sscratch
        csrr    t1, sepc
        csrr    t2, sstatus
        sd      t0, 31*8(t6)
        sd      t1, FRAME_EPC(t6)
        sd      t2, FRAME_STATUS(t6)
        mv      s0, t6
        PHASE   stack
        la      sp, kernel_stack_top
        PHASE   dispatch
        csrr    t0, scause
        bltz    t0, timer
        li      t2, CAUSE_USER_ECALL
        bne     t0, t2, unexpected_trap
        addi    t1, t1, 4
        sd      t1, FRAME_EPC(s0)
        li      t0, CALL_YIELD
        beq     a7, t0, yield
        CALL_HANDLER
        sd      a0, 80(s0)
        mv      t6, s0
        j       resume
yield:
        sd      zero, 80(s0)
reschedule:
        PHASE   schedule
        ld      t6, FRAME_NEXT(s0)
        la      t0, switches
        ld      t1, 0(t0)
        addi    t1, t1, 1
        sd      t1, 0(t0)
#ifdef SPACE
        PHASE   space
        ld      t0, FRAME_SATP(t6)
        csrw    satp, t0
#ifdef FLUSH
        sfence.vma
#endif
#endif
resume:
        PHASE   restore
        csrw    sscratch, t6
        ld      t0, FRAME_STATUS(t6)
        ld      t1, FRAME_EPC(t6)
        csrw    sstatus, t0
        csrw    sepc, t1
        LOAD    t6, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        PHASE   return
        sret

        PHASE   dispatch
timer:
        li      a0, SLICE_TICKS
        ecall                           // firmware sets the next tick
        j       reschedule

        .bss
        .balign 16
contexts:
        .skip   2 * FRAME_SIZE
