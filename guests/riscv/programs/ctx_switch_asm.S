// image: ctx_switch-asm kernel=full
// image: ctx_switch-asm-linux linux
// One getpid between two reads of the cycle counter, in assembly.
        .text
        .globl  main
main:
        li      a7, 172
        rdcycle s0
        ecall
        rdcycle s1
        sub     a0, s1, s0
        // The number in decimal, from its last digit.
        la      t0, text_end
        li      t1, 10
1:      rem     t2, a0, t1
        addi    t2, t2, '0'
        addi    t0, t0, -1
        sb      t2, 0(t0)
        div     a0, a0, t1
        bnez    a0, 1b
        // write(1, number and what follows it, length)
        mv      a1, t0
        la      a2, line_end
        sub     a2, a2, a1
        li      a0, 1
        li      a7, 64
        ecall
        li      a0, 0
        ret

        .data
        .skip   20
text_end:
        .ascii  " cycles\n"
line_end:
