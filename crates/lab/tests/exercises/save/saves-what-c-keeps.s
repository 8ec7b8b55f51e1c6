# fails: the program's registers survive
# hint: t1 (was
        .globl  trap_entry
        .balign 4
trap_entry:
phase_stack:
        csrrw   sp, mscratch, sp        # the kernel's stack; the program's sp goes to mscratch
phase_save:
        addi    sp, sp, -256
        sd      ra, 8(sp)
        sd      gp, 24(sp)
        sd      tp, 32(sp)
        sd      t0, 40(sp)
        sd      s0, 64(sp)
        sd      s1, 72(sp)
        sd      s2, 144(sp)
        sd      s3, 152(sp)
        sd      s4, 160(sp)
        sd      s5, 168(sp)
        sd      s6, 176(sp)
        sd      s7, 184(sp)
        sd      s8, 192(sp)
        sd      s9, 200(sp)
        sd      s10, 208(sp)
        sd      s11, 216(sp)
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
        ld      gp, 24(sp)
        ld      tp, 32(sp)
        ld      t0, 40(sp)
        ld      s0, 64(sp)
        ld      s1, 72(sp)
        ld      s2, 144(sp)
        ld      s3, 152(sp)
        ld      s4, 160(sp)
        ld      s5, 168(sp)
        ld      s6, 176(sp)
        ld      s7, 184(sp)
        ld      s8, 192(sp)
        ld      s9, 200(sp)
        ld      s10, 208(sp)
        ld      s11, 216(sp)
        addi    sp, sp, 256
phase_stack_2:
        csrrw   sp, mscratch, sp
phase_return:
        mret
