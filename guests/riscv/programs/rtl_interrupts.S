// image: rtl-interrupts-rv32 bare -march=rv32im_zicsr -mabi=ilp32
// image: rtl-interrupts-rv64 bare
// image: rtl-interrupts-clic bare -march=rv32im_zicsr -mabi=ilp32 -DCLIC
// Loops that the machine external interrupt comes into, at each of their cycles (xtask/rtl). A word that is written into
// the image before it is loaded chooses the loop.
#include "rtl.h"

        .option norvc
        .text
        .globl  _start, vectors
_start:
        la      s0, data
        la      s1, data + 1024
        .irp r, ra, sp, gp, tp, t1, t2, t3, t4, t5, t6, a0, a1, a2, a3, a4, a5, a6, a7, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
        li      \r, 0
        .endr
        // VexRiscv masks its lines by a register of its own; others trap and continue.
        la      t0, 1f
        csrw    mtvec, t0
        li      t0, 1
        csrw    0xbc0, t0
        .balign 256
        // With an entry for each cause, if the core has that.
1:      la      t0, vectors
        la      t1, vectored
        lw      t1, 0(t1)
        or      t0, t0, t1
        csrw    mtvec, t0
#ifdef CLIC
        // Source 11: enabled, of a level, and if it is vectored with its handler in a table.
        la      t0, table
        csrw    0x307, t0
        li      t0, 0x4001000 + 4 * 11
        slli    t1, t1, 16
        li      t2, 0x80c00100
        or      t1, t1, t2
        sw      t1, 0(t0)
#endif
        // A controller, if there is one (Rocket's): source 1 has priority 1 and is enabled for machine mode.
        la      t0, controller
        lw      s9, 0(t0)
        beqz    s9, 1f
        li      t1, 1
        sw      t1, 4(s9)
        li      t2, 0x2000
        add     t2, s9, t2
        li      t1, 2
        sw      t1, 0(t2)
        li      t2, 0x200000
        add     s9, s9, t2
        sw      zero, 0(s9)
1:
        li      t0, 0x800
        csrw    mie, t0
        csrsi   mstatus, 8
        la      t0, selected
        lw      t1, XBYTES(t0)
        la      t0, _start
        add     t0, t0, t1
        jr      t0

        .balign 256
vectors:
        .rept   12
        j       handler
        .endr
handler:
        beqz    s9, 1f
        // Claimed and completed.
        lw      s10, 4(s9)
        sw      s10, 4(s9)
        lw      s10, 0(s9)
1:        mret

.macro PASSES name
        .balign 64
        .globl  interrupt.\name, head.\name
interrupt.\name:
        li      s2, 1000000
        li      s3, 7
head.\name:
.endm

        // Additions that depend on each other.
        PASSES  integer
        .rept   16
        addi    a0, a0, 1
        .endr
        j       head.integer

        // What takes long: multiplications and divisions, dependent and not.
        PASSES  division
        mul     a1, s2, s3
        div     a2, a1, s3
        addi    a3, a3, 1
        add     a4, a2, a3
        div     a5, s3, s2
        addi    a3, a3, 1
        j       head.division

        // Loads, stores, and a use of what was loaded.
        PASSES  memory
        LX      a0, 0(s0)
        addi    a0, a0, 1
        SX      a0, 0(s0)
        lbu     a1, 3(s0)
        add     a2, a1, a0
        SX      a2, 8(s0)
        LX      a3, 8(s0)
        SX      a3, 0(s1)
        j       head.memory

        // Jumps, branches that are taken and not, a call.
        PASSES  branch
        addi    a0, a0, 1
        andi    a1, a0, 1
        beqz    zero, 1f
        nop
1:      bnez    zero, 2f
        jal     leaf
2:      addi    a2, a2, 1
        j       head.branch
leaf:   addi    a3, a3, 1
        ret

        .data
        .balign 64
        .globl  selected
selected:
#if __riscv_xlen == 64
        .dword  0x31304c5452, 0
#else
        .word   0x304c5452, 0
#endif
        .globl  controller, vectored
controller:
        .word   0
vectored:
        .word   0
#ifdef CLIC
        .balign 256
table:
        .rept   12
        .word   handler
        .endr
#endif
        .balign 4096
        .globl  data
data:   .zero   2048
