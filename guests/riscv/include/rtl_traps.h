// What the small trap kernels share: phases as in the lab's kernels, frames of all registers.

        .set    FRAME, 34 * XBYTES
        .set    EPC, 32 * XBYTES
        .set    STATUS, 33 * XBYTES
        .set    CROSSINGS, 25

.macro PHASE name
phase.\name\().\@:
.endm
.macro SAVE base, regs:vararg
        .irp    reg, \regs
        SX      x\reg, \reg * XBYTES(\base)
        .endr
.endm
.macro LOAD base, regs:vararg
        .irp    reg, \regs
        LX      x\reg, \reg * XBYTES(\base)
        .endr
.endm
#define ALL_BUT_SP 1,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
#define CALLER_SAVED 1,5,6,7,10,11,12,13,14,15,16,17,28,29,30,31

// All registers but the stack pointer and t0, which _start has used.
.macro CLEAR
        .irp r, ra, gp, tp, t1, t2, t3, t4, t5, t6, s0, s1, a0, a1, a2, a3, a4, a5, a6, a7, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
        li      \r, 0
        .endr
.endm

// The program: one crossing after the other, each through a stub as in a C library. The crossings end with the last.
.macro PROGRAM name
        PHASE   user
program.\name:
        li      s0, CROSSINGS
1:      li      a7, 2
toll.begin.\name:
        nop
        jal     stub.\name
        .globl  toll.end.\name
toll.end.\name:
        nop
        addi    s0, s0, -1
        bnez    s0, 1b
2:      j       2b
stub.\name:
        ecall
        ret
.endm

// Saves all that a call may not change, or its caller's part, on the stack that the scratch register of a mode has.
.macro SAVE_ALL mode regs:vararg
        PHASE   stack
        csrrw   sp, \mode\()scratch, sp
        addi    sp, sp, -FRAME
        PHASE   save
        SAVE    sp, \regs
        csrr    t0, \mode\()scratch
        csrr    t1, \mode\()epc
        csrr    t2, \mode\()status
        SX      t0, 2 * XBYTES(sp)
        SX      t1, EPC(sp)
        SX      t2, STATUS(sp)
.endm
.macro SAVE_CALLERS
        PHASE   stack
        csrrw   sp, mscratch, sp
        addi    sp, sp, -FRAME
        PHASE   save
        SAVE    sp, CALLER_SAVED
        csrr    t1, mepc
        SX      t1, EPC(sp)
.endm

// Calls what a7 says, and returns from the trap with its result.
.macro CALL_AND_RETURN mode regs:vararg
        la      t0, call_table
        slli    t1, a7, 2
        add     t0, t0, t1
        LX      t0, 0(t0)
        jalr    t0
        SX      a0, 10 * XBYTES(sp)
        PHASE   stack
        addi    t0, sp, FRAME
        csrw    \mode\()scratch, t0
        PHASE   restore
        LX      t0, STATUS(sp)
        LX      t1, EPC(sp)
        csrw    \mode\()status, t0
        csrw    \mode\()epc, t1
        LOAD    sp, \regs
        LX      sp, 2 * XBYTES(sp)
        PHASE   return
        \mode\()ret
.endm
// Returns from a trap that saved the caller's part.
.macro RETURN_TO_CALLER
        LX      t1, EPC(sp)
        csrw    mepc, t1
        LOAD    sp, CALLER_SAVED
        addi    sp, sp, FRAME
        csrrw   sp, mscratch, sp
        PHASE   return
        mret
.endm
