        .globl  trap_entry
        .balign 4
trap_entry:
phase_save:
        csrrw   sp, mscratch, sp
        sd      t0, -8(sp)
        sd      t1, -16(sp)
phase_dispatch:
        csrr    t0, mepc
        addi    t0, t0, 4
        csrw    mepc, t0
        li      t0, {{add}}
        bne     a7, t0, other
phase_handler:
        la      t1, counter
        ld      t0, 0(t1)
        add     a0, a0, t0
        sd      a0, 0(t1)
back:
phase_restore:
        ld      t0, -8(sp)
        ld      t1, -16(sp)
        csrrw   sp, mscratch, sp
phase_return:
        mret
other:
        li      t0, {{read}}
        li      a0, -38
        bne     a7, t0, back
        la      t1, counter
        ld      a0, 0(t1)
        j       back

        .data
        .balign 8
counter:
        .dword  {{first}}
