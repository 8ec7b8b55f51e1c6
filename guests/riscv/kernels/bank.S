// image: bank
// For a machine with a second register bank (our extension xtollbank): the trap switches banks, so nothing is
// saved, and the bank has its own stack pointer. The number of the call and its six arguments are moved to the
// bank of the kernel, and the result is moved back.
#include "asm.h"

#define TOLLBANK 0x5c0
#define TOLLBANK_EN 0x100

// toll.mvfrom rd, rs: rs of the other bank. toll.mvto rd, rs: rd of the other bank. Both in custom-0.
.macro FROM reg
        .insn   i 0x0b, 0, \reg, \reg, 0
.endm
.macro TO reg
        .insn   i 0x0b, 1, \reg, \reg, 0
.endm

        .section .text.trap, "ax"
        .globl  kernel_enter
kernel_enter:
        la      sp, kernel_stack_top
        TO      sp
        li      t0, TOLLBANK_EN
        csrw    TOLLBANK, t0
        FIRST_TASK

        .balign 4
        .globl  trap_vector
trap_vector:
        PHASE   dispatch
        csrr    t0, scause
        bltz    t0, unexpected_trap     // interrupts are checked first, as in full.S
        li      t2, CAUSE_USER_ECALL
        bne     t0, t2, unexpected_trap
        csrr    t1, sepc
        addi    t1, t1, 4
        csrw    sepc, t1
        PHASE   save
        FROM    a7
        FROM    a0
        FROM    a1
        FROM    a2
        FROM    a3
        FROM    a4
        FROM    a5
        PHASE   dispatch
        CALL_HANDLER
        PHASE   restore
        TO      a0
        PHASE   return
        sret
