// image: clic -DKERNEL_M
// image: clic-table -DKERNEL_M -DTABLE
// image: clic-next -DKERNEL_M -DNEXT
// image: pair-clic -DKERNEL_M -DPAIR
// image: pair-table -DKERNEL_M -DTABLE -DPAIR
// image: pair-next -DKERNEL_M -DNEXT -DPAIR
// The full save of full-m with the CLIC of CV32E40X (Smclic 0.9-draft): one entry that looks at mcause, a handler for the interrupt
// in the table that the hardware reads (TABLE), or one entry that takes interrupts from mnxti until none is pending (NEXT).
#include "asm.h"

        .set    MTVT, 0x307
        .set    MNXTI, 0x345
        // Four bytes for each: pending, enabled, attributes, level. Software is source 3, the timer 7.
        .set    SOURCES, 0x4001000
#ifdef TABLE
        .set    ATTRIBUTES, 0xc1
#else
        .set    ATTRIBUTES, 0xc0
#endif

        .section .text.trap, "ax"
        .globl  kernel_enter
kernel_enter:
        la      t0, interrupt_table
        csrw    MTVT, t0
        li      t0, SOURCES
        li      t1, 0x40 << 24 | ATTRIBUTES << 16 | 1 << 8
        sw      t1, 4 * 3(t0)
#ifdef PAIR
        sw      t1, 4 * 7(t0)
#endif
        la      t0, kernel_stack_top
        csrw    mscratch, t0
        FIRST_TASK

#ifdef TABLE
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
#endif

        // The lowest seven bits of mtvec are zero.
        .balign 128
        .globl  trap_vector
trap_vector:
        ENTER_FULL
        PHASE   dispatch
        csrr    t0, mcause
        bltz    t0, interrupt
        // The other fields are the mode and the level before.
        andi    t0, t0, 0x3f
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

        PHASE   dispatch
interrupt:
#ifdef NEXT
        // mcause has the mode and the level before; mnxti changes it, and opens interrupts of higher levels: there are none here.
        mv      s0, t0
        csrrsi  t0, MNXTI, 8
        beqz    t0, 2f
1:      ld      t0, 0(t0)
        jalr    t0
        csrrsi  t0, MNXTI, 8
        bnez    t0, 1b
2:      csrci   mstatus, 8
        csrw    mcause, s0
#else
        andi    t0, t0, 0x3f
        slli    t0, t0, 3
        la      t1, interrupt_table
        add     t0, t0, t1
        ld      t0, 0(t0)
        jalr    t0
#endif
        j       resume

        .section .rodata
        .balign 128
interrupt_table:
        .dword  unexpected_trap, unexpected_trap, unexpected_trap
#ifdef TABLE
        .dword  soft_entry, unexpected_trap, unexpected_trap, unexpected_trap
#else
        .dword  soft_interrupt, unexpected_trap, unexpected_trap, unexpected_trap
#endif
#if defined(TABLE) && defined(PAIR)
        .dword  timer_entry
#else
        .dword  TIMER_HANDLER
#endif
        .rept   8
        .dword  unexpected_trap
        .endr
