# fails: the translation is announced
        .globl  trap_entry
        .balign 4
trap_entry:
phase_stack:
        csrrw   sp, sscratch, sp
phase_save:
        addi    sp, sp, -64
        sd      t0, 0(sp)
        sd      t1, 8(sp)
        sd      t2, 16(sp)
        sd      t3, 24(sp)
phase_dispatch:
        csrr    t0, stval
        li      t1, {{base}}
        bltu    t0, t1, bad
        li      t2, {{pages}} * 4096
        add     t1, t1, t2
        bgeu    t0, t1, bad
phase_page:
        la      t1, next_frame
        ld      t2, 0(t1)               # the frame
        lui     t3, 1
        add     t3, t3, t2
        sd      t3, 0(t1)
        mv      t1, t2
1:      sd      zero, 0(t1)
        sd      zero, 8(t1)
        sd      zero, 16(t1)
        sd      zero, 24(t1)
        sd      zero, 32(t1)
        sd      zero, 40(t1)
        sd      zero, 48(t1)
        sd      zero, 56(t1)
        addi    t1, t1, 64
        bltu    t1, t3, 1b
phase_map:
        srli    t2, t2, 2
        ori     t2, t2, 0xd7
        srli    t1, t0, 12
        slli    t1, t1, 55
        srli    t1, t1, 52
        la      t3, leaf_table
        add     t1, t1, t3
        sd      t2, 0(t1)
phase_restore:
        ld      t0, 0(sp)
        ld      t1, 8(sp)
        ld      t2, 16(sp)
        ld      t3, 24(sp)
        addi    sp, sp, 64
phase_stack_2:
        csrrw   sp, sscratch, sp
phase_return:
        sret
bad:    j       bad_access

        .data
        .balign 8
next_frame:
        .dword  frames
