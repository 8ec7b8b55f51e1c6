// image: rtl-machine-traps-rv32 bare -march=rv32im_zicsr_zifencei -mabi=ilp32
// image: rtl-clic-traps-rv32 bare -march=rv32im_zicsr_zifencei -mabi=ilp32 -DCLIC
// Small trap kernels for cores of 32 bits that have machine mode only: a program that crosses in a loop, and handlers.
// The software interrupt is raised by a store and awaited by polling; pairs raise the timer's with it, so that the second is
// pending when the first is handled. A word that is written into the image before it is loaded chooses the kernel.
#include "rtl.h"
#include "rtl_traps.h"

        // Registers of the CLIC, of its draft of 2022, and where it is.
        .set    MTVT, 0x307
        .set    MNXTI, 0x345
        .set    SOURCES, 0x4001000
        .set    SOFTWARE, 3
        .set    TIMER, 7
        .set    MTIMECMP, 0x2004000

        .option norvc
        .text
        .globl  _start, done
_start:
        PHASE   boot
        la      sp, program_stack
        CLEAR
        la      t0, selected
        LX      t1, XBYTES(t0)
        la      t0, _start
        add     t0, t0, t1
        jr      t0

        // To the program, in machine mode, with interrupts open.
.macro LEAVE program
        la      t0, \program
        csrw    mepc, t0
        li      t0, 0x1880
        csrs    mstatus, t0
        mret
.endm

.macro ECALLS name regs:vararg
        PHASE   boot
        .balign 64
        .globl  trap.machine.\name
trap.machine.\name:
        la      t0, entry.\name
        csrw    mtvec, t0
        la      t0, kernel_stack
        csrw    mscratch, t0
        LEAVE   program.machine.\name
        PROGRAM machine.\name
        .balign 256
entry.\name:
        SAVE_ALL m, \regs
        PHASE   dispatch
        csrr    t0, mcause
        bltz    t0, unexpected
        andi    t0, t0, 0xff
        li      t2, 11
        bne     t0, t2, unexpected
        addi    t1, t1, 4
        SX      t1, EPC(sp)
        CALL_AND_RETURN m, \regs
.endm
        ECALLS  full, ALL_BUT_SP
        ECALLS  caller, CALLER_SAVED

        // A source of the CLIC: enabled, of a level, vectored by hardware or not.
.macro SOURCE number level vectored
        li      t0, SOURCES + 4 * \number
        li      t1, \level << 24 | (0xc0 | \vectored) << 16 | 1 << 8
        sw      t1, 0(t0)
.endm

        // The program: both interrupts are raised while they are masked, if there are two.
.macro AWAITS name pair
        PHASE   user
program.\name:
        li      s0, CROSSINGS
        la      s1, task
        li      s2, 0x2000000
        li      s3, 1
        li      s4, MTIMECMP
        li      s5, \pair + 1
        li      t0, -1
        sw      t0, 0(s4)
        sw      zero, 4(s4)
1:      sw      zero, 0(s1)
        .if     \pair
        csrci   mstatus, 8
        sw      zero, 0(s4)
        sw      s3, 0(s2)
        // Until the lines are there.
        nop
        nop
        nop
        nop
        .globl  toll.begin.\name, toll.end.\name
toll.begin.\name:
        csrsi   mstatus, 8
        .else
toll.begin.\name:
        nop
        sw      s3, 0(s2)
        .endif
2:      lw      t2, 0(s1)
        bne     t2, s5, 2b
toll.end.\name:
        nop
        addi    s0, s0, -1
        bnez    s0, 1b
3:      j       3b
.endm

        // One entry, one for each cause, or with the CLIC one that asks for what is next until nothing is.
.macro INTERRUPT name pair how
        PHASE   boot
        .balign 64
        .globl  trap.\name
trap.\name:
        la      t0, entry.\name
#ifdef CLIC
        csrw    mtvec, t0
        la      t0, handlers.\name
        csrw    MTVT, t0
        .ifc    \how, vectored
        SOURCE  SOFTWARE, 0x40, 1
        SOURCE  TIMER, 0x40, 1
        .else
        SOURCE  SOFTWARE, 0x40, 0
        SOURCE  TIMER, 0x40, 0
        .endif
#else
        .ifc    \how, vectored
        addi    t0, t0, 1
        .endif
        csrw    mtvec, t0
        li      t0, 0x88
        csrw    mie, t0
#endif
        la      t0, kernel_stack
        csrw    mscratch, t0
        LEAVE   program.\name
        AWAITS  \name, \pair
        .balign 256
entry.\name:
        PHASE   dispatch
        .ifc    \how, vectored
#ifndef CLIC
        .irp    cause, 0, 1, 2, 3, 4, 5, 6, 7
        .if     \cause == SOFTWARE
        j       software.\name
        .elseif \cause == TIMER
        j       timer.\name
        .else
        j       unexpected
        .endif
        .endr
#endif
        ONE     software.\name, software
        ONE     timer.\name, timer
        .else
        SAVE_CALLERS
        .ifc    \how, next
        csrr    t1, mcause
        SX      t1, STATUS(sp)
        PHASE   dispatch
        // Nothing pending: as if another one had handled it.
        csrrsi  t0, MNXTI, 8
        beqz    t0, 5f
4:      LX      t0, 0(t0)
        jalr    t0
        PHASE   dispatch
        csrrsi  t0, MNXTI, 8
        bnez    t0, 4b
5:      PHASE   restore
        csrci   mstatus, 8
        LX      t1, STATUS(sp)
        csrw    mcause, t1
        .else
        PHASE   dispatch
        csrr    t0, mcause
        bgez    t0, unexpected
        andi    t0, t0, 0xff
        slli    t0, t0, 2
        la      t1, handlers.\name
        add     t0, t0, t1
        LX      t0, 0(t0)
        jalr    t0
        PHASE   restore
        .endif
        RETURN_TO_CALLER
        .endif
        .balign 256
handlers.\name:
        .irp    cause, 0, 1, 2, 3, 4, 5, 6, 7
        .ifc    \how, vectored
        .if     \cause == SOFTWARE
        .word   software.\name
        .elseif \cause == TIMER
        .word   timer.\name
        .else
        .word   unexpected
        .endif
        .else
        .if     \cause == SOFTWARE
        .word   software
        .elseif \cause == TIMER
        .word   timer
        .else
        .word   unexpected
        .endif
        .endif
        .endr
.endm

        // An entry of a single cause, which saves only what its handler uses.
.macro ONE label handler
\label:
        SAVE_CALLERS
        PHASE   dispatch
        jal     \handler
        PHASE   restore
        RETURN_TO_CALLER
.endm

        INTERRUPT interrupt.direct, 0, direct
        INTERRUPT interrupt.vectored, 0, vectored
        INTERRUPT pair.direct, 1, direct
        INTERRUPT pair.vectored, 1, vectored
#ifdef CLIC
        INTERRUPT interrupt.next, 0, next
        INTERRUPT pair.next, 1, next
#endif

        // Handlers take their interrupt back, and count.
        PHASE   handler
        .balign 4
call_number:
        la      t0, task
        LX      a0, 0(t0)
        ret
software:
        PHASE   handler
        li      t0, 0x2000000
        sw      zero, 0(t0)
        j       count
timer:
        PHASE   handler
        li      t0, MTIMECMP
        li      t1, -1
        sw      t1, 0(t0)
count:
        la      t0, task
        LX      t1, 0(t0)
        addi    t1, t1, 1
        SX      t1, 0(t0)
        ret
unexpected:
        PHASE   other
        j       unexpected
        .balign 64
done:   j       done

        .data
        .balign 64
        .globl  selected
selected:
        .word   0x304c5452, 0
        .balign 64
task:   .word   0, 0
call_table:
        .rept   8
        .word   call_number
        .endr
        .balign 64
        .zero   1024
kernel_stack:
        .zero   1024
program_stack:
        .zero   64
