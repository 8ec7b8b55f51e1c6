// image: rtl-traps-rv32 bare -march=rv32ima_zicsr_zifencei -mabi=ilp32
// Small trap kernels for the cores of 32 bits, which cannot run the others: those are programs of 64 bits. Each is a
// program that crosses in a loop, and a kernel in machine or supervisor mode; phases and crossings are marked as there. A word
// that is written into the image before it is loaded chooses the kernel.
#include "rtl.h"
#include "rtl_traps.h"

        .option norvc
        .text
        .globl  _start, done
_start:
        PHASE   boot
        la      sp, program_stack
        CLEAR
        // Everything is allowed to user mode where there is physical memory protection; elsewhere this traps and continues.
        la      t0, 1f
        csrw    mtvec, t0
        li      t0, -1
        csrw    pmpaddr0, t0
        li      t0, 31
        csrw    pmpcfg0, t0
        .balign 256
1:      la      t0, selected
        LX      t1, XBYTES(t0)
        la      t0, _start
        add     t0, t0, t1
        jr      t0

// Supervisor mode, which user traps are delegated to.
.macro SUPERVISED
        li      t0, -1
        csrw    medeleg, t0
        li      t0, 0x1800
        csrc    mstatus, t0
        li      t0, 0x800
        csrs    mstatus, t0
        la      t0, 1f
        csrw    mepc, t0
        mret
        .balign 4
1:
.endm

// Every page of RAM's first 4 MiB at its own address, for the supervisor; that of the program for the user.
.macro PAGED program
        la      t0, leaf
        li      t1, (0x80000000 >> 2) | 0xcf
        li      t2, 1024
1:      sw      t1, 0(t0)
        addi    t1, t1, 1024
        addi    t0, t0, 4
        addi    t2, t2, -1
        bnez    t2, 1b
        la      t0, leaf
        la      t1, \program
        slli    t1, t1, 1
        srli    t1, t1, 13
        slli    t1, t1, 2
        add     t1, t0, t1
        lw      t2, 0(t1)
        ori     t2, t2, 0x10
        sw      t2, 0(t1)
        // The root's entry for 0x80000000.
        srli    t1, t0, 12
        slli    t1, t1, 10
        ori     t1, t1, 1
        la      t0, root
        li      t2, 2048
        add     t2, t0, t2
        sw      t1, 0(t2)
        srli    t0, t0, 12
        li      t1, 1
        slli    t1, t1, 31
        or      t0, t0, t1
        csrw    satp, t0
        sfence.vma
.endm

// A kernel: `mode` is m or s, `regs` are saved.
.macro TRAPS name mode paged regs:vararg
        PHASE   boot
        .balign 64
        .globl  trap.\name
trap.\name:
        .ifc    \mode, s
        SUPERVISED
        .endif
        .ifc    \paged, paged
        PAGED   program.\name
        .endif
        la      t0, entry.\name
        csrw    \mode\()tvec, t0
        la      t0, kernel_stack
        csrw    \mode\()scratch, t0
        la      t0, program.\name
        csrw    \mode\()epc, t0
        .ifc    \mode, m
        li      t0, 0x1800
        csrc    mstatus, t0
        mret
        .else
        li      t0, 0x100
        csrc    sstatus, t0
        sret
        .endif
        .balign 4096
        PROGRAM \name
        .balign 4096
        PHASE   boot
        .balign 256
entry.\name:
        SAVE_ALL \mode, \regs
        PHASE   dispatch
        csrr    t0, \mode\()cause
        bltz    t0, unexpected
        li      t2, 8
        bne     t0, t2, unexpected
        addi    t1, t1, 4
        SX      t1, EPC(sp)
        li      t0, 8
        bgeu    a7, t0, unexpected
        CALL_AND_RETURN \mode, \regs
.endm

        TRAPS   user.full, m, bare, ALL_BUT_SP
        TRAPS   user.caller, m, bare, CALLER_SAVED
        TRAPS   supervisor.full, s, bare, ALL_BUT_SP
        TRAPS   translated.full, s, paged, ALL_BUT_SP
        TRAPS   translated.caller, s, paged, CALLER_SAVED

        // Two tasks, each with a context that the scratch register points to; the crossing is from one to the other.
        PHASE   boot
        .balign 64
        .globl  trap.user.switch
trap.user.switch:
        la      t0, entry.user.switch
        csrw    mtvec, t0
        la      t0, contexts
        csrw    mscratch, t0
        addi    t1, t0, FRAME + 64
        SX      t1, 0(t0)
        SX      t0, 0(t1)
        la      t2, program.user.switch
        csrw    mepc, t2
        SX      t2, EPC(t1)
        li      t3, 0x1800
        csrc    mstatus, t3
        csrr    t3, mstatus
        SX      t3, STATUS(t1)
        mret
        PHASE   user
program.user.switch:
toll.begin.user.switch:
        nop
        ecall
        .globl  toll.end.user.switch
toll.end.user.switch:
        nop
        j       program.user.switch

        .balign 256
entry.user.switch:
        PHASE   save
        csrrw   x31, mscratch, x31
        SAVE    x31, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
        csrr    t0, mscratch
        csrr    t1, mepc
        csrr    t2, mstatus
        SX      t0, 31 * XBYTES(x31)
        SX      t2, STATUS(x31)
        PHASE   dispatch
        csrr    t0, mcause
        li      t2, 8
        bne     t0, t2, unexpected
        addi    t1, t1, 4
        SX      t1, EPC(x31)
        PHASE   schedule
        LX      x31, 0(x31)
        la      t0, task
        LX      t1, 0(t0)
        addi    t1, t1, 1
        SX      t1, 0(t0)
        PHASE   restore
        csrw    mscratch, x31
        LX      t0, STATUS(x31)
        LX      t1, EPC(x31)
        csrw    mstatus, t0
        csrw    mepc, t1
        LOAD    x31, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        PHASE   return
        mret

        // The software interrupt: raised by a store, awaited by polling; one entry, or one for each cause.
.macro INTERRUPT name vectored
        PHASE   boot
        .balign 64
        .globl  trap.\name
trap.\name:
        la      t0, entry.\name + \vectored
        csrw    mtvec, t0
        la      t0, kernel_stack
        csrw    mscratch, t0
        li      t0, 8
        csrw    mie, t0
        la      t0, program.\name
        csrw    mepc, t0
        li      t0, 0x1800
        csrc    mstatus, t0
        mret
        PHASE   user
program.\name:
        li      s0, CROSSINGS
        la      s1, task
        li      s2, 0x2000000
        li      s3, 1
1:      sw      zero, 0(s1)
toll.begin.\name:
        nop
        sw      s3, 0(s2)
2:      lw      t2, 0(s1)
        beqz    t2, 2b
        .globl  toll.end.\name
toll.end.\name:
        nop
        addi    s0, s0, -1
        bnez    s0, 1b
3:      j       3b
        .balign 256
entry.\name:
        PHASE   dispatch
        .if     \vectored
        .rept   3
        j       unexpected
        .endr
        j       4f
        .endif
4:
        SAVE_CALLERS
        .if     1 - \vectored
        PHASE   dispatch
        csrr    t0, mcause
        bgez    t0, unexpected
        slli    t0, t0, 2
        la      t1, interrupt_table
        add     t0, t0, t1
        LX      t0, 0(t0)
        jalr    t0
        .else
        PHASE   dispatch
        jal     software
        .endif
        PHASE   restore
        RETURN_TO_CALLER
.endm
        INTERRUPT interrupt.direct, 0
        INTERRUPT interrupt.vectored, 1

        PHASE   handler
        .balign 4
call_number:
        la      t0, task
        LX      a0, 0(t0)
        ret
software:
        li      t0, 0x2000000
        sw      zero, 0(t0)
        la      t0, task
        li      t1, 1
        sw      t1, 0(t0)
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
task:   .word   1, 0
call_table:
        .rept   8
        .word   call_number
        .endr
interrupt_table:
        .rept   8
        .word   software
        .endr
        .balign 64
contexts:
        .zero   2 * (FRAME + 64)
        .balign 4096
root:   .zero   4096
leaf:   .zero   4096
        .zero   1024
kernel_stack:
        .zero   1024
program_stack:
        .zero   64
