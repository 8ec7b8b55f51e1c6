# fails: the count is the kernel's
# hint: measure it, do not write it down
        .globl  count
count:
        li      a7, {{call}}
        ecall
        li      a0, 21 + {{work}} + 2 * {{loops}}
        ret
