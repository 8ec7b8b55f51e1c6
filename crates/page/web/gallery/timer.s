# An interrupt arrives at any cycle
#
# A loop counts while the timer interrupts it, three
# times. Where the interrupt hits differs, and so do the
# cycles until the handler's first instruction.

        .equ    MTIMECMP, 0x2004000
        .equ    MTIME, 0x200bff8

        .globl  _start
_start:
        la      t0, trap_entry
        csrw    mtvec, t0
        la      t0, kernel_stack_end
        csrw    mscratch, t0
        li      s10, MTIME
        li      s11, MTIMECMP
        ld      t0, 0(s10)
        addi    t0, t0, 3
        # the first interrupt, three ticks from now
        sd      t0, 0(s11)
        li      t0, 1 << 7
        csrw    mie, t0         # timer interrupts
        csrsi   mstatus, 8      # all interrupts
        li      s0, 3
count:  addi    s1, s1, 1
        li      t0, 7
        # on some cores an interrupt waits for the end of
        # a division
        div     t1, s1, t0
        bgtz    s0, count
        # the machine ends when this word is written:
        # status << 1 | 1
        la      t0, tohost
        li      t1, 1
        sd      t1, 0(t0)
end:    j       end

        .balign 4
trap_entry:
phase_stack:
        csrrw   sp, mscratch, sp
phase_save:
        addi    sp, sp, -16
        sd      t0, 0(sp)
phase_handler:
        ld      t0, 0(s10)
        addi    t0, t0, 3
        # the next interrupt; this also ends the pending
        # one
        sd      t0, 0(s11)
        addi    s0, s0, -1
phase_restore:
        ld      t0, 0(sp)
        addi    sp, sp, 16
phase_stack_2:
        csrrw   sp, mscratch, sp
phase_return:
        mret

        .data
        .balign 64
tohost: .dword  0

        .bss
        .balign 16
        .zero   1024
kernel_stack_end:
