# fails: less than 60 cycles
# hint: registers that you do not need
        .globl  trap_entry
        .balign 4
trap_entry:
phase_stack:
        csrrw   sp, mscratch, sp
phase_save:
        addi    sp, sp, -128
        sd      ra, 0(sp)
        sd      t0, 8(sp)
        sd      t1, 16(sp)
        sd      t2, 24(sp)
        sd      t3, 32(sp)
        sd      t4, 40(sp)
        sd      t5, 48(sp)
        sd      t6, 56(sp)
        sd      a1, 64(sp)
        sd      a2, 72(sp)
        sd      a3, 80(sp)
        sd      a4, 88(sp)
        sd      a5, 96(sp)
        sd      a6, 104(sp)
        sd      a7, 112(sp)
phase_dispatch:
        csrr    t0, mepc
        addi    t0, t0, 4
        csrw    mepc, t0
        call    dispatch
phase_restore:
        ld      ra, 0(sp)
        ld      t0, 8(sp)
        ld      t1, 16(sp)
        ld      t2, 24(sp)
        ld      t3, 32(sp)
        ld      t4, 40(sp)
        ld      t5, 48(sp)
        ld      t6, 56(sp)
        ld      a1, 64(sp)
        ld      a2, 72(sp)
        ld      a3, 80(sp)
        ld      a4, 88(sp)
        ld      a5, 96(sp)
        ld      a6, 104(sp)
        ld      a7, 112(sp)
        addi    sp, sp, 128
phase_stack_2:
        csrrw   sp, mscratch, sp
phase_return:
        mret

phase_handler:
dispatch:
        li      t0, {{add}}
        beq     a7, t0, add_to_counter
        li      t0, {{read}}
        beq     a7, t0, read_counter
        li      a0, -38
        ret
add_to_counter:
        la      t0, counter
        ld      t1, 0(t0)
        add     a0, a0, t1
        sd      a0, 0(t0)
        ret
read_counter:
        la      t0, counter
        ld      a0, 0(t0)
        ret

        .data
        .balign 8
counter:
        .dword  {{first}}
