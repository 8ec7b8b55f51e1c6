# Why is a trap a control hazard?
#
# A branch that is predicted wrongly throws fetched
# instructions away. So does a trap, and more of them,
# because it is decided in the last stage. Step through
# both, and compare the crosses in the pipeline.

        .globl  _start
_start:
        la      t0, trap_entry
        csrw    mtvec, t0
        li      s0, 2
loop:
        addi    s1, s1, 1
        # a branch that is always taken
        beqz    zero, taken
        # fetched behind it, never executed
        addi    s2, s2, 1
        addi    s3, s3, 1
taken:
        addi    s4, s4, 1
        # a trap: what is behind it is fetched, too
        ecall
        addi    s5, s5, 1
        addi    s0, s0, -1
        bnez    s0, loop
        # the machine ends when this word is written:
        # status << 1 | 1
end:    la      t0, tohost
        li      t1, 1
        sd      t1, 0(t0)
        j       end

        .balign 4
trap_entry:
        csrr    t0, mepc
        addi    t0, t0, 4
        csrw    mepc, t0
        mret

        .data
        .balign 64
tohost: .dword  0
