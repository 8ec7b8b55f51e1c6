// image: latency bare
// A loop that the timer or another line interrupts twice, the second time with everything in the caches. The loop contains the
// causes of pipeline stalls: a load whose value is used immediately, a multiplication, a division, a taken branch.
        .option norvc
        .equ    MTIME, 0x200bff8
        .equ    MTIMECMP, 0x2004000
        .equ    TICKS, 40

        .text
        .globl  _start
_start:
        la      t0, timer
        csrw    mtvec, t0
        la      s0, datum
        li      s1, 7
        li      s2, 0
        li      s3, 0
        li      t0, MTIME
        ld      t1, 0(t0)
        addi    t1, t1, TICKS
        li      t0, MTIMECMP
        sd      t1, 0(t0)
        li      t0, -1
        csrs    mie, t0
        csrsi   mstatus, 8
        .balign 64
        .globl  loop
loop:
        ld      a0, 0(s0)
        addi    a0, a0, 1
        mul     a1, a0, s1
        div     a2, a1, s1
        sd      a0, 0(s0)
        addi    a3, a3, 1
        xor     a4, a3, a0
        beqz    s2, loop

        .globl  done
done:
        j       leave
        .skip   16

        .balign 4
        .globl  timer
timer:
        li      t5, MTIMECMP
        bnez    s3, 2f
        li      s3, 1
        li      t6, MTIME
        ld      t6, 0(t6)
        addi    t6, t6, TICKS
        sd      t6, 0(t5)
        mret
2:      li      t6, -1
        sd      t6, 0(t5)
        li      s2, 1
        mret

// A diagram goes on behind the interrupt, so the end is not near.
leave:
        .rept   24
        addi    a3, a3, 1
        .endr
        la      t0, tohost
        li      t1, 1
        sd      t1, 0(t0)
1:      j       1b

        .data
        .balign 64
        .globl  tohost, fromhost
tohost: .dword  0
        .balign 64
fromhost:
        .dword  0
        .balign 64
datum:  .dword  0
