# fails: the call has its result
        .globl  trap_entry
        .balign 4
trap_entry:
phase_stack:
        csrrw   sp, mscratch, sp
phase_save:
        addi    sp, sp, -64
        sd      t0, 0(sp)
        sd      t1, 8(sp)
        sd      t2, 16(sp)
        sd      t3, 24(sp)
phase_dispatch:
        csrr    t0, mepc
        addi    t0, t0, 4
        csrw    mepc, t0
        li      t1, {{call}}
        bne     a7, t1, unknown
phase_handler:
        li      t1, {{factor}}
        add     a0, a0, a1
        j       restore
unknown:
        li      a0, -38
restore:
phase_restore:
        ld      t0, 0(sp)
        ld      t1, 8(sp)
        ld      t2, 16(sp)
        ld      t3, 24(sp)
        addi    sp, sp, 64
phase_stack_2:
        csrrw   sp, mscratch, sp
phase_return:
        mret

        .data
        .balign 8
answer_phase:
        .dword  [[which: PHASE_DISPATCH PHASE_DISPATCH PHASE_SAVE PHASE_HANDLER PHASE_HANDLER]]                       # write PHASE_ and its name
answer_cause:
        .dword  [[which: CAUSE_LOAD_USE CAUSE_LONG_OPERATION CAUSE_LONG_OPERATION CAUSE_LONG_OPERATION CAUSE_LOAD_USE]]                       # write CAUSE_ and its name
# What the entry looks at.
chain:  .dword  chain_2
chain_2:
        .dword  chain_3
chain_3:
        .dword  chain
