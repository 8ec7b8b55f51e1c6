# What makes a pipeline wait?
#
# One loop with the usual causes: a load whose result is
# used at once, a multiplication, a division, a taken
# branch, and loads that miss the cache. Choose another
# core and compare the ledgers in Account.

        .globl  _start
_start:
        la      s0, table
        li      s1, 8
loop:
        ld      t0, 0(s0)  # misses: each line is new
        addi    t0, t0, 1       # waits for the load
        mul     t1, t0, t0
        add     t1, t1, t0      # waits for the product
        div     t2, t1, s1      # many cycles
        sd      t2, 8(s0)
        addi    s0, s0, 64      # the next line
        addi    s1, s1, -1
        bnez    s1, loop
        li      a7, 93
        li      a0, 0
        ecall

        .bss
        .balign 64
table:  .zero   640
