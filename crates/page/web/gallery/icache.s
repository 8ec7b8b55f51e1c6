# The instruction cache: 32-bit instructions
#
# The loop has 14 instructions, 56 bytes. In a cache of 4
# lines with 8 bytes each, every line has been replaced
# when it is needed again: half of the accesses miss (hit
# rate 0.50). Compare with the next program, which is the
# same loop compressed.

        .option norvc
        .globl  _start
_start:
        li      a1, 1
        li      a3, 0
        li      a4, 1024
        .balign 8
loop:
        add     a0, a0, a1
        slli    a2, a0, 5
        xor     a1, a1, a2
        add     a1, a1, a3
        srli    a2, a1, 3
        xor     a0, a0, a2
        add     a0, a0, a3
        sub     a1, a1, a0
        slli    a2, a1, 7
        xor     a0, a0, a2
        xor     a0, a0, a3
        add     a1, a1, a0
        addi    a3, a3, 1
        bne     a3, a4, loop
        li      a7, 93
        li      a0, 0
        ecall
