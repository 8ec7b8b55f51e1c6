# fails: the count is the kernel's
# hint: off by one
        .globl  count
count:
        li      a7, {{call}}
        rdinstret t0
        ecall
        rdinstret t1
        sub     a0, t1, t0
        ret
