// image: vector-eager -march=rv64gcv -DVECTORS -DEAGER
// image: vector-dirty -march=rv64gcv -DVECTORS -DDIRTY
// image: vector-lazy -march=rv64gcv -DVECTORS -DLAZY
// The full context switch between two tasks of one address space, with vectors. Eager: every switch saves and loads them. The
// others use sstatus.VS (privileged specification, 3.1.6.6), which is Off until a task uses vectors, and that traps. Dirty: a
// switch saves them only if they are Dirty, and loads those of the next task, unless it has none. Lazy: a switch saves them
// only if they are Dirty, and turns them off; the next use traps, and the trap loads them.
#include "asm.h"

// Registers of up to 1,024 bits.
#define VECTORS_SIZE (32 + 32 * 128)

// All vector registers and their control registers, at the address in t3. (vstart would be where a store of registers begins.)
.macro STORE_VECTORS
        csrr    t4, vl
        csrr    t5, vtype
        csrr    a3, vcsr
        csrr    a4, vstart
        csrw    vstart, zero
        sd      t4, 0(t3)
        sd      t5, 8(t3)
        sd      a3, 16(t3)
        sd      a4, 24(t3)
        addi    t3, t3, 32
        csrr    t4, vlenb
        slli    t4, t4, 3
        vs8r.v  v0, (t3)
        add     t3, t3, t4
        vs8r.v  v8, (t3)
        add     t3, t3, t4
        vs8r.v  v16, (t3)
        add     t3, t3, t4
        vs8r.v  v24, (t3)
.endm
.macro LOAD_VECTORS
        ld      t5, 0(t3)
        ld      a2, 8(t3)
        ld      a3, 16(t3)
        ld      a4, 24(t3)
        addi    t3, t3, 32
        csrr    t4, vlenb
        slli    t4, t4, 3
        vl8re8.v v0, (t3)
        add     t3, t3, t4
        vl8re8.v v8, (t3)
        add     t3, t3, t4
        vl8re8.v v16, (t3)
        add     t3, t3, t4
        vl8re8.v v24, (t3)
        vsetvl  zero, t5, a2
        csrw    vcsr, a3
        csrw    vstart, a4
.endm

// From the context in s0.
.macro SAVE_VECTORS
        ld      t3, FRAME_VECTORS(s0)
#ifdef EAGER
        STORE_VECTORS
#else
        ld      t2, FRAME_STATUS(s0)
        li      t0, STATUS_VS
        and     t1, t2, t0
        bne     t1, t0, 1f              // Dirty: both bits are set
        STORE_VECTORS
#ifdef DIRTY
        xori    t2, t2, STATUS_VS ^ STATUS_VS_CLEAN
        sd      t2, FRAME_STATUS(s0)
1:
#else
1:      andi    t2, t2, ~STATUS_VS
        sd      t2, FRAME_STATUS(s0)
#endif
#endif
.endm

// To the context in t6. The status that it is resumed with says how its vectors are.
.macro RESTORE_VECTORS
#ifdef EAGER
        ld      t3, FRAME_VECTORS(t6)
        LOAD_VECTORS
#endif
#ifdef DIRTY
        ld      t2, FRAME_STATUS(t6)
        andi    t1, t2, STATUS_VS
        beqz    t1, 1f
        csrs    sstatus, t1
        ld      t3, FRAME_VECTORS(t6)
        LOAD_VECTORS
1:
#endif
.endm

        .section .text.trap, "ax"
        .globl  kernel_enter
kernel_enter:
        la      t0, contexts
        la      t1, contexts + FRAME_SIZE
        sd      t1, FRAME_NEXT(t0)
        sd      t0, FRAME_NEXT(t1)
        la      t2, vectors
        sd      t2, FRAME_VECTORS(t0)
        la      t2, vectors + VECTORS_SIZE
        sd      t2, FRAME_VECTORS(t1)
        la      t2, user_partner
        sd      t2, FRAME_EPC(t1)
#ifdef EAGER
        li      t2, STATUS_VS_INITIAL
        csrs    sstatus, t2
#endif
        csrr    t2, sstatus
        sd      t2, FRAME_STATUS(t1)
        li      t2, 0x80800000
        sd      t2, 16(t1)
        csrw    sscratch, t0
        la      t0, user_start
        csrw    sepc, t0
        li      sp, 0x80600000
        sret

#define NAME(name) name
#include "switch.h"

        // A vector instruction while vectors are off: the task receives its own.
        PHASE   restore
first_use:
        ld      t2, FRAME_STATUS(s0)
        andi    t1, t2, STATUS_VS
        bnez    t1, unexpected_trap
        li      t1, STATUS_VS_CLEAN
        or      t2, t2, t1
        sd      t2, FRAME_STATUS(s0)
        csrs    sstatus, t1
        ld      t3, FRAME_VECTORS(s0)
        LOAD_VECTORS
        mv      t6, s0
        j       resume

        .bss
        .balign 16
contexts:
        .skip   2 * FRAME_SIZE
vectors:
        .skip   2 * VECTORS_SIZE
