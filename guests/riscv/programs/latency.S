// image: latency bare
// A loop that the timer interrupts twice, the second time with everything in the caches. How far into the loop the
// interrupts come is a parameter, written into the image before it is loaded: so many instructions run before the
// loop begins. The loop contains the causes of pipeline stalls: a load whose value is used immediately, a
// multiplication, a division, a taken branch.
        .option norvc
        .equ    MTIME, 0x200bff8
        .equ    MTIMECMP, 0x2004000
        .equ    TICKS, 40
        .equ    MOST, 64

        .text
        .globl  _start
_start:
        la      t0, timer
        csrw    mtvec, t0
        la      s0, datum
        la      t5, latency_offset
        ld      t2, 8(t5)
        li      s1, 7
        li      s2, 0
        li      s3, 0
        li      t0, MTIME
        ld      t1, 0(t0)
        addi    t1, t1, TICKS
        li      t0, MTIMECMP
        sd      t1, 0(t0)
        li      t0, 0x80
        csrs    mie, t0
        csrsi   mstatus, 8
        la      t3, loop
        slli    t2, t2, 2
        sub     t3, t3, t2
        jr      t3
        .rept   MOST
        nop
        .endr
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
        la      t0, tohost
        li      t1, 1
        sd      t1, 0(t0)
1:      j       1b

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

        .data
        .balign 64
        .globl  tohost, fromhost, latency_offset
tohost: .dword  0
        .balign 64
fromhost:
        .dword  0
        .balign 64
        // A magic number (LAT01 from its last byte on), and the offset.
latency_offset:
        .dword  0x313054414c, 0
datum:  .dword  0
