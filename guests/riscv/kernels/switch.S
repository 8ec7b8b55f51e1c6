// image: switch-same
// image: switch-space -DSPACE -DFLUSH
// image: switch-asid -DSPACE -DASID
// image: shadow-stack -DSHADOW
// The full context switch: two user tasks, each with a context block that sscratch points to while it runs.
// sched_yield and the timer save one context and load the other. The two share an address space, or have two with a
// flush of the TLB, or two whose identifiers make the flush unnecessary. On a hart without identifiers the last kernel
// flushes, too: it chooses between two copies of the trap's code when it starts, so that a switch pays for no choice.
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
#ifdef SHADOW
        // Programs have a shadow stack.
        li      t2, ENVCFG_SSE
        csrs    CSR_SENVCFG, t2
#endif
        csrw    sscratch, t0
        la      t0, user_start
        csrw    sepc, t0
#ifdef ASID
        ld      t0, asid_bits
        bnez    t0, 1f
        la      t0, trap_vector_flush
        csrw    stvec, t0
1:
#endif
        // The timer ticks only if a parameter of the image enables it; see boot.c.
        ld      t0, toll_wants_timer
        beqz    t0, 1f
        li      a0, SLICE_TICKS
        ecall
1:      li      sp, 0x80600000
        sret

#define NAME(name) name
#include "switch.h"
#ifdef ASID
#undef NAME
#define NAME(name) name##_flush
#define FLUSH
#include "switch.h"
#endif

        .bss
        .balign 16
contexts:
        .skip   2 * FRAME_SIZE
