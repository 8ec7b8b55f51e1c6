# A page fault by hand
#
# A kernel in supervisor mode with a page table of three
# levels (Sv39) runs a program in user mode. The program
# touches a page that is not mapped; the handler maps it
# and returns to the same instruction. Follow the trap,
# then open "Page table".

        .equ    PTE_V, 1
        # valid, readable, writable, executable,
        # accessed, dirty
        .equ    KERNEL_RWX, 0xcf
        .equ    USER_RWX, 0xdf  # and for user mode
        .equ    USER_RW, 0xd7
        # the page that the program touches
        .equ    PAGE, 0x40000000

        .globl  _start
_start:
        # supervisor and user mode may use all memory
        li      t0, -1
        csrw    pmpaddr0, t0
        li      t0, 0x1f
        csrw    pmpcfg0, t0
        # load and store page faults go to supervisor
        # mode
        li      t0, 1 << 13 | 1 << 15
        csrw    medeleg, t0
        la      t0, trap_entry
        csrw    stvec, t0
        la      t0, kernel_stack_end
        csrw    sscratch, t0
        la      t0, machine_entry
        csrw    mtvec, t0

        # 1 GiB at 0x80000000, for the kernel and the
        # program
        la      t0, level2
        li      t1, 0x80000 << 10 | USER_RWX
        sd      t1, 16(t0)
        # 0x40000000: a table of level 1, then of level
        # 0, still empty
        la      t1, level1
        srli    t1, t1, 2
        ori     t1, t1, PTE_V
        sd      t1, 8(t0)
        la      t2, level1
        la      t1, level0
        srli    t1, t1, 2
        ori     t1, t1, PTE_V
        sd      t1, 0(t2)
        la      t0, level2
        srli    t0, t0, 12
        li      t1, 8 << 60     # Sv39
        or      t0, t0, t1
        csrw    satp, t0
        sfence.vma

        # The kernel's own instructions must not be in a
        # page of user mode, so the handler has a mapping
        # of its own: the same memory once more, at
        # 0xc0000000.
        la      t0, level2
        li      t1, 0x80000 << 10 | KERNEL_RWX
        sd      t1, 24(t0)
        la      t0, trap_entry
        li      t1, 0x40000000
        add     t0, t0, t1
        csrw    stvec, t0
        la      t0, kernel_stack_end
        add     t0, t0, t1
        csrw    sscratch, t0

        la      t0, program
        csrw    mepc, t0
        mret  # MPP is 0 after reset: user mode

program:
        li      s0, PAGE
        li      s1, 42
        sd      s1, 0(s0)       # <- the page fault
        # now it is mapped, and the translation is in the
        # TLB
        ld      s2, 0(s0)
        mv      a0, s2
        ecall  # the end; this trap goes to machine mode

        .balign 4
trap_entry:
phase_stack:
        csrrw   sp, sscratch, sp
phase_save:
        addi    sp, sp, -32
        sd      t0, 0(sp)
        sd      t1, 8(sp)
        sd      t2, 16(sp)
phase_dispatch:
        csrr    t0, scause
        li      t1, 15          # a store page fault
        bne     t0, t1, stop
# map the page: write the entry of level 0
phase_handler:
        csrr    t0, stval  # the address that was touched
        srli    t0, t0, 12
        andi    t0, t0, 511
        slli    t0, t0, 3
        la      t1, level0
        add     t0, t0, t1
        # la is relative to pc, so it yields the address
        # at 0xc0000000
        la      t1, fresh_page
        li      t2, 0x40000000
        sub     t1, t1, t2      # the physical address
        srli    t1, t1, 2
        ori     t1, t1, USER_RW
        sd      t1, 0(t0)
        sfence.vma
phase_restore:
        ld      t0, 0(sp)
        ld      t1, 8(sp)
        ld      t2, 16(sp)
        addi    sp, sp, 32
phase_stack_2:
        csrrw   sp, sscratch, sp
phase_return:
        # to the instruction that faulted, once more
        sret
stop:   j       stop

        .balign 4
machine_entry:
phase_exit:
        # the machine ends when this word is written:
        # status << 1 | 1
        la      t0, tohost
        li      t1, 1
        sd      t1, 0(t0)
        j       machine_entry

        .data
        .balign 64
tohost: .dword  0

        .bss
        .balign 4096
level2: .zero   4096
level1: .zero   4096
level0: .zero   4096
fresh_page:
        .zero   4096
        .zero   4096
kernel_stack_end:
