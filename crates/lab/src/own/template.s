# A trap entry to start from: it saves what C may overwrite, calls the handler, restores and returns.
#
#   tollgate riscv trap --kernel mine.s --kernel full --core all
#
# trap_entry is where an ecall of the program comes in; mscratch then holds the end of a stack. Every register but a0, the
# result, must be as before when it returns to the instruction after the ecall. A label phase_NAME begins a phase of the bill:
# stack, save, dispatch, handler, restore, return. The same one again is phase_NAME_2.

        .text
        .balign 4
        .globl  trap_entry
trap_entry:
phase_stack:
        csrrw   sp, mscratch, sp        # the kernel's stack, and the program's sp into mscratch
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
        csrr    t0, mcause
        li      t1, 8                   # an ecall from U-mode
        bne     t0, t1, stop
        csrr    t0, mepc
        addi    t0, t0, 4               # return to the instruction after the ecall
        csrw    mepc, t0
        call    handle
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
        csrrw   sp, mscratch, sp        # the program's stack, and the kernel's into mscratch
phase_return:
        mret

phase_handler:
handle:                                 # the call's number is in a7, its result goes to a0
        li      a0, 1
        ret

stop:   j       stop                    # not a call
