// One crossing of each kind, with a read of the retired-instruction counter on either side. The counters go to
// callee-saved registers; an empty pair differs by 1 (the first read itself).
#include "asm.h"

        .text
        .globl  user_partner
user_partner:
        call    partner

// A system call as in a C library: move the number into a7, ecall, return.
stub:
        mv      a7, t1
        ecall
        ret

.macro ENTER
        addi    sp, sp, -32
        sd      ra, 0(sp)
        sd      s2, 8(sp)
        sd      s3, 16(sp)
        sd      s4, 24(sp)
.endm
.macro LEAVE
        sub     a0, s3, s2
        ld      ra, 0(sp)
        ld      s2, 8(sp)
        ld      s3, 16(sp)
        ld      s4, 24(sp)
        addi    sp, sp, 32
        ret
.endm

// long toll_system_call(long number, const long arguments[3], long *result)
        .globl  toll_system_call
toll_system_call:
        ENTER
        mv      s4, a2
        mv      t1, a0
        mv      t2, a1
        ld      a0, 0(t2)
        ld      a1, 8(t2)
        ld      a2, 16(t2)
        BEGIN   s2
        jal     stub
        END     s3
        sd      a0, 0(s4)
        LEAVE

// long toll_soft_interrupt(volatile long *flag): raise the hart's own software interrupt, wait for its handler.
        .globl  toll_soft_interrupt
toll_soft_interrupt:
        ENTER
        sd      zero, 0(a0)
        li      t0, 0x2000000
        li      t1, 1
        BEGIN   s2
        sw      t1, 0(t0)
1:      ld      t2, 0(a0)
        beqz    t2, 1b
        END     s3
        LEAVE

// long toll_yield(volatile long *begin): the task that yields writes its counter to shared memory, and the task that runs
// next reads it. This measures one way, from the program of one task to that of the other.
        .globl  toll_yield
toll_yield:
        ENTER
        li      a7, CALL_YIELD
        mv      t3, a0
        BEGIN   s2
        sd      s2, 0(t3)
        ecall
        END     s3
        ld      s2, 0(t3)
        LEAVE

#ifdef VECTORS
// Uses vectors, for the first time before anything is counted.
        .globl  toll_use_vectors
toll_use_vectors:
        vsetivli zero, 1, e8, m1, ta, ma
        vadd.vi v0, v0, 1
        ret

// toll_yield, but the task that runs next changes a vector register before its counter is read.
        .globl  toll_yield_vector
toll_yield_vector:
        ENTER
        li      a7, CALL_YIELD
        mv      t3, a0
        BEGIN   s2
        sd      s2, 0(t3)
        ecall
        vsetivli zero, 1, e8, m1, ta, ma
        vadd.vi v0, v0, 1
        END     s3
        ld      s2, 0(t3)
        LEAVE
#endif

// Makes the floating-point state dirty.
        .globl  toll_dirty_fp
toll_dirty_fp:
        fmv.d.x f0, zero
        ret
