# A system call, step by step
#
# A program in user mode asks its kernel for a number,
# three times. Press "Follow the trap": you see what the
# hardware does at the ecall, then each phase of the
# handler, then the return. The labels phase_NAME divide
# the bill.

        .globl  _start
_start:  # machine mode: prepare, then enter the program
        la      t0, trap_entry
        csrw    mtvec, t0       # where traps go
        la      t0, kernel_stack_end
        # the kernel's stack, exchanged with sp at each
        # trap
        csrw    mscratch, t0
        li      t0, -1
        # user mode may use all memory
        csrw    pmpaddr0, t0
        li      t0, 0x1f
        csrw    pmpcfg0, t0
        la      t0, program
        csrw    mepc, t0
        la      sp, program_stack_end
        mret  # MPP is 0 after reset: user mode

program:
        li      s0, 3           # three calls
again:  li      a7, 172         # getpid
        ecall                   # <- the trap
        add     s1, s1, a0
        addi    s0, s0, -1
        bnez    s0, again
        mv      a0, s1
        li      a7, 93          # exit
        ecall

        .balign 4
trap_entry:
phase_stack:
        # to the kernel's stack; the program's sp is kept
        # in mscratch
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
        csrr    t0, mcause
        li      t1, 8           # an ecall from user mode
        bne     t0, t1, stop
        csrr    t0, mepc
        addi    t0, t0, 4  # continue after the ecall
        csrw    mepc, t0
        li      t0, 93
        beq     a7, t0, exit
        call    getpid
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
        # back to the program's stack
        csrrw   sp, mscratch, sp
phase_return:
        mret

phase_handler:
getpid: li      a0, 1
        ret

phase_exit:
        # the machine ends when this word is written:
        # status << 1 | 1
exit:   la      t0, tohost
        li      t1, 1
        sd      t1, 0(t0)
stop:   j       stop

        .data
        .balign 64
tohost: .dword  0

        .bss
        .balign 16
kernel_stack:
        .zero   4096
kernel_stack_end:
program_stack:
        .zero   4096
program_stack_end:
