# fails: the misses without C are explained
        .globl  kernel
        .text
        .balign 8
        .skip   {{skip}}
kernel:                                 # a0 is the argument and the result
        li      a1, 64                  # iterations
        mv      a2, a0
        mv      a3, a0
        mv      a4, a0
        li      a5, {{c4}}
        .balign 8
loop:
        add     a2, a2, a3
        xor     a3, a3, a5
        and     a4, a4, a2
        add     a0, a0, a4
        addi    a2, a2, {{c1}}
        sub     a3, a3, a4
        or      a4, a4, a3
        slli    a2, a2, {{s1}}
        add     a0, a0, a3
        xor     a4, a4, a2
        addi    a3, a3, {{c2}}
        add     a4, a4, a3
        sub     a2, a2, a5
        xor     a0, a0, a2
        addi    a1, a1, -1
        bnez    a1, loop
        ret

        .data
        .balign 4
misses_without_c:
        .word   50
misses_with_c:
        .word   75
