// image: enhanced_ctx_switch-asm kernel=full
// image: enhanced_ctx_switch-asm-linux linux
// getpid 1,000 times between reads of the cycle counter, in assembly: minimum, mean and maximum.
        .text
        .globl  main
main:
        addi    sp, sp, -16
        sd      ra, 0(sp)
        li      s2, 1000                // remaining
        li      s3, -1                  // minimum, unsigned
        li      s4, 0                   // maximum
        li      s5, 0                   // sum
1:      li      a7, 172
        rdcycle s0
        ecall
        rdcycle s1
        sub     s0, s1, s0
        bgeu    s0, s3, 2f
        mv      s3, s0
2:      bgeu    s4, s0, 3f
        mv      s4, s0
3:      add     s5, s5, s0
        addi    s2, s2, -1
        bnez    s2, 1b
        li      t0, 1000
        divu    s5, s5, t0
        mv      a0, s3
        call    put_line
        mv      a0, s5
        call    put_line
        mv      a0, s4
        call    put_line
        li      a0, 0
        ld      ra, 0(sp)
        addi    sp, sp, 16
        ret

// Writes a0 in decimal and a line feed.
put_line:
        la      t0, line_end - 1
        li      t1, 10
1:      remu    t2, a0, t1
        addi    t2, t2, '0'
        addi    t0, t0, -1
        sb      t2, 0(t0)
        divu    a0, a0, t1
        bnez    a0, 1b
        mv      a1, t0
        la      a2, line_end
        sub     a2, a2, a1
        li      a0, 1
        li      a7, 64
        ecall
        ret

        .data
        .skip   20
        .ascii  "\n"
line_end:
