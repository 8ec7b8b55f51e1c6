# fails: it fits with C
        .globl  kernel
        .text
        .balign 8
        .skip   {{skip}}
kernel:                                 # a0 is the argument and the result
        li      a1, 64                  # iterations
        mv      {{r1}}, a0
        mv      {{r2}}, a0
        mv      {{r3}}, a0
        li      {{r4}}, {{c4}}
        .balign 8
loop:
        add     {{r1}}, {{r1}}, {{r2}}
        xor     {{r2}}, {{r2}}, {{r4}}
        and     {{r3}}, {{r3}}, {{r1}}
        add     a0, a0, {{r3}}
        addi    {{r1}}, {{r1}}, {{c1}}
        sub     {{r2}}, {{r2}}, {{r3}}
        or      {{r3}}, {{r3}}, {{r2}}
        slli    {{r1}}, {{r1}}, {{s1}}
        add     a0, a0, {{r2}}
        xor     {{r3}}, {{r3}}, {{r1}}
        addi    {{r2}}, {{r2}}, {{c2}}
        add     {{r3}}, {{r3}}, {{r2}}
        sub     {{r1}}, {{r1}}, {{r4}}
        xor     a0, a0, {{r1}}
        addi    a1, a1, -1
        bnez    a1, loop
        ret

        .data
        .balign 4
misses_without_c:
        .word   [[place: 9 8 9 8 9 8 9 8]]
misses_with_c:
        .word   [[place: 6 4 4 4 4 4 4 4]]
