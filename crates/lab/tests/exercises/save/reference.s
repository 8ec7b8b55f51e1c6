        .globl  trap_entry
        .balign 4
trap_entry:
phase_stack:
        csrrw   sp, mscratch, sp        # the kernel's stack; the program's sp goes to mscratch
phase_save:
        addi    sp, sp, -256
        sd      ra, 8(sp)
        sd      t0, 40(sp)
        sd      t1, 48(sp)
        sd      t2, 56(sp)
        sd      a1, 88(sp)
        sd      a2, 96(sp)
        sd      a3, 104(sp)
        sd      a4, 112(sp)
        sd      a5, 120(sp)
        sd      a6, 128(sp)
        sd      a7, 136(sp)
        sd      t3, 224(sp)
        sd      t4, 232(sp)
        sd      t5, 240(sp)
        sd      t6, 248(sp)
        csrr    t0, mepc
        addi    t0, t0, 4               # return behind the ecall
        sd      t0, 0(sp)
phase_dispatch:
        li      t0, {{call}}
        bne     a7, t0, unknown
        call    handle
        j       restore
unknown:
        li      a0, -38
restore:
phase_restore:
        ld      t0, 0(sp)
        csrw    mepc, t0
        ld      ra, 8(sp)
        ld      t0, 40(sp)
        ld      t1, 48(sp)
        ld      t2, 56(sp)
        ld      a1, 88(sp)
        ld      a2, 96(sp)
        ld      a3, 104(sp)
        ld      a4, 112(sp)
        ld      a5, 120(sp)
        ld      a6, 128(sp)
        ld      a7, 136(sp)
        ld      t3, 224(sp)
        ld      t4, 232(sp)
        ld      t5, 240(sp)
        ld      t6, 248(sp)
        addi    sp, sp, 256
phase_stack_2:
        csrrw   sp, mscratch, sp
phase_return:
        mret
