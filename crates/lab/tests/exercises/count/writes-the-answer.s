# fails: it keeps to its own memory
        .globl  count
count:
        li      a7, {{call}}
        ecall
        li      t0, 60
        la      t1, count
        auipc   t2, 0
        lui     t2, 0x80001             # where the harness keeps its data
        sd      t0, 0(t2)
        ret
