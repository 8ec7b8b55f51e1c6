// The frame of a kernel whose cycles are compared with a core's RTL: a set-up, then passes of a loop.
//
// The set-up begins at kernel.NAME, the loop at head.NAME; an instruction that each pass retires is at pass.NAME. The part of
// NAME before the dot is its group: what a core must have. s0 and s1 point to data, s11 counts the passes, t5 and t6 belong to handlers.

#if __riscv_xlen == 64
#define LX ld
#define SX sd
#define XBYTES 8
#else
#define LX lw
#define SX sw
#define XBYTES 4
#endif

.macro KERNEL name passes=200
        .balign 64
        .globl  kernel.\name
kernel.\name:
        li      s11, \passes

.endm

.macro LOOP name
        .balign 64
        .globl  head.\name
head.\name:
.endm

.macro END name
        .globl  pass.\name
pass.\name:
        addi    s11, s11, -1
        bnez    s11, head.\name
        j       done
.endm

// For a loop that a branch does not span.
.macro FAREND name
        .globl  pass.\name
pass.\name:
        addi    s11, s11, -1
        beqz    s11, 1f
        j       head.\name
1:      j       done
.endm

.macro HANDLER name
        la      t0, \name
        csrw    mtvec, t0
.endm

// A loop without a set-up.
.macro PLAIN name passes=200
        KERNEL  \name, \passes
        LOOP    \name
.endm
