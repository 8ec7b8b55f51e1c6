        .globl  count
count:
        li      a7, {{call}}
        rdinstret t0
        ecall
        rdinstret t1
        sub     a0, t1, t0
        addi    a0, a0, -1
        ret
