// Control and status registers, traps, modes, translation.

.macro READS name csr
        PLAIN   \name
        .irp r, a0, a1, a2, a3, a4, a5, a6, a7
        csrr    \r, \csr
        .endr
        END     \name
.endm
.macro WRITES name csr value
        KERNEL  \name
        \value
        LOOP    \name
        .rept   8
        csrw    \csr, s2
        .endr
        END     \name
.endm
        READS   csr.read_scratch, mscratch
        READS   csr.read_status, mstatus
        READS   csr.read_cause, mcause
        READS   csr.read_pending, mip
        READS   counter.read_cycle, mcycle
        READS   counter.read_instret, minstret
        WRITES  csr.write_scratch, mscratch, "li s2, 0"
        WRITES  csr.write_epc, mepc, "la s2, done"
        WRITES  csr.write_cause, mcause, "li s2, 0"
        WRITES  csr.write_vector, mtvec, "la s2, skip"
        WRITES  csr.write_status, mstatus, "csrr s2, mstatus"
        WRITES  csr.write_enabled, mie, "li s2, 0"
        WRITES  csr.write_pending, mip, "li s2, 0"
        WRITES  csr.write_value, mtval, "li s2, 0"

        PLAIN   csr.use
        .irp r, a0, a1, a2, a3, a4, a5, a6, a7
        csrr    \r, mscratch
        add     t0, \r, s11
        .endr
        END     csr.use

        PLAIN   csr.swap
        .rept   8
        csrrw   a0, mscratch, a0
        .endr
        END     csr.swap

        PLAIN   csr.set_bits
        .rept   8
        csrsi   mscratch, 1
        .endr
        END     csr.set_bits

        PLAIN   csr.set_no_bits
        .rept   8
        csrrs   a0, mstatus, zero
        .endr
        END     csr.set_no_bits

        PLAIN   csr.enable_and_disable
        .rept   4
        csrsi   mstatus, 8
        csrci   mstatus, 8
        .endr
        END     csr.enable_and_disable

        PLAIN   csr.after_load
        .rept   4
        LX      a0, 8(s0)
        csrw    mscratch, a0
        csrr    a1, mscratch
        .endr
        END     csr.after_load

        PLAIN   csr.after_store
        .rept   4
        SX      s11, 8(s0)
        csrr    a1, mscratch
        .endr
        END     csr.after_store

        KERNEL  csr.after_division
        li      s2, 1000
        li      s3, 3
        LOOP    csr.after_division
        .rept   4
        div     a0, s2, s3
        csrr    a1, mscratch
        .endr
        END     csr.after_division

        // Handlers. Cores without compressed instructions need an alignment of 4, Ibex one of 256.
.macro AT name
        .balign 256
\name:
.endm
        // Goes past an instruction of 4 bytes.
        AT      skip
        csrr    t6, mepc
        addi    t6, t6, 4
        csrw    mepc, t6
        mret

        // Returns to where ra points.
        AT      back
        csrw    mepc, ra
        mret

.macro SKIPPED name handler instruction
        KERNEL  \name
        HANDLER \handler
        li      s2, 0x40000
        LOOP    \name
        \instruction
        END     \name
.endm
        SKIPPED trap.ecall, skip, "ecall"
        SKIPPED trap.breakpoint, skip, "ebreak"
        SKIPPED trap.illegal, skip, ".word 0xffffffff"
        SKIPPED trap.illegal_csr, skip, "csrr a0, 0x5ff"
        SKIPPED trap.read_only_csr, skip, "csrw mvendorid, a0"
        SKIPPED access.load, skip, "lw a0, 0(s2)"
        SKIPPED access.store, skip, "sw a0, 0(s2)"
        SKIPPED access.load_then_work, skip, "lw a0, 0(s2); add a1, s11, s11; add a2, s11, s11; add a3, s11, s11"
        SKIPPED access.fetch, back, "jalr s2"

        KERNEL  trap.two_in_row
        HANDLER skip
        LOOP    trap.two_in_row
        ecall
        ecall
        END     trap.two_in_row

        KERNEL  trap.after_load
        HANDLER skip
        LOOP    trap.after_load
        LX      a0, 8(s0)
        ecall
        add     a1, a0, a0
        END     trap.after_load

        KERNEL  trap.after_store
        HANDLER skip
        LOOP    trap.after_store
        SX      s11, 8(s0)
        ecall
        END     trap.after_store

        KERNEL  trap.after_division
        HANDLER skip
        li      s2, 0x7ffffff1
        li      s3, 3
        LOOP    trap.after_division
        div     a0, s2, s3
        ecall
        END     trap.after_division

        KERNEL  trap.after_taken_branch
        HANDLER skip
        LOOP    trap.after_taken_branch
        bnez    s11, 1f
        nop
1:      ecall
        END     trap.after_taken_branch

        // Predictions before and after a trap.
        KERNEL  trap.and_branches
        HANDLER skip
        LOOP    trap.and_branches
        ecall
        .rept   8
        bnez    s11, 1f
        nop
1:
        .endr
        END     trap.and_branches

        // The return alone.
        KERNEL  trap.return
        la      s2, 1f
        li      s3, 0x1800
        csrs    mstatus, s3
        LOOP    trap.return
        csrw    mepc, s2
        csrs    mstatus, s3
        mret
1:      END     trap.return

        // All registers saved and restored.
        .set    FRAME, 32 * XBYTES
        AT      all_registers
        csrrw   sp, mscratch, sp
        addi    sp, sp, -FRAME
        .irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        SX      x\n, \n * XBYTES(sp)
        .endr
        csrr    s1, mepc
        csrr    s2, mcause
        csrr    s3, mstatus
        SX      s1, 0(sp)
        SX      s3, 2 * XBYTES(sp)
        li      t0, 11
        bne     s2, t0, 1f
        la      t1, routines
        andi    t2, a7, 3
        slli    t2, t2, 4
        add     t1, t1, t2
        jalr    t1
        SX      a0, 10 * XBYTES(sp)
1:      LX      s1, 0(sp)
        addi    s1, s1, 4
        LX      s3, 2 * XBYTES(sp)
        csrw    mepc, s1
        csrw    mstatus, s3
        .irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        LX      x\n, \n * XBYTES(sp)
        .endr
        addi    sp, sp, FRAME
        csrrw   sp, mscratch, sp
        mret
        .balign 16
routines:
        .irp n, 0, 1, 2, 3
        addi    a0, a0, \n
        ret
        .balign 16
        .endr

        KERNEL  trap.all_registers
        HANDLER all_registers
        la      t0, data + 4096
        csrw    mscratch, t0
        LOOP    trap.all_registers
        li      a7, 2
        ecall
        END     trap.all_registers

        // A trap in a handler.
        AT      nesting
        bnez    t4, 1f
        csrr    t3, mepc
        li      t4, 1
        ecall
        li      t4, 0
        addi    t3, t3, 4
        csrw    mepc, t3
        // The return from the inner trap has left user mode there.
        li      t3, 0x1800
        csrs    mstatus, t3
        mret
1:      csrr    t6, mepc
        addi    t6, t6, 4
        csrw    mepc, t6
        mret

        KERNEL  trap.nested
        HANDLER nesting
        LOOP    trap.nested
        ecall
        END     trap.nested

        // A pending interrupt that is not taken ends the wait at once.
        KERNEL  wait.pending
        li      s2, 0x2000000
        li      s3, 1
        sw      s3, 0(s2)
        li      s4, 8
        csrw    mie, s4
        LOOP    wait.pending
        wfi
        END     wait.pending

        // A handler that takes back the software interrupt: entry 3 of a table in cores that have vectors, otherwise the first.
        AT      vectors
        .rept   4
        j       software
        .endr
        AT      software
        sw      zero, 0(s2)
        mret

        KERNEL  wait.software_interrupt
        la      t0, vectors
        ori     t0, t0, 1
        csrw    mtvec, t0
        li      s2, 0x2000000
        li      s3, 1
        li      s4, 8
        csrw    mie, s4
        csrsi   mstatus, 8
        LOOP    wait.software_interrupt
        sw      s3, 0(s2)
        .rept   64
        nop
        .endr
        END     wait.software_interrupt

        // User mode: everything is allowed to it where there is physical memory protection.
.macro USER
        la      t0, 1f
        csrw    mtvec, t0
        li      t0, -1
        csrw    pmpaddr0, t0
        li      t0, 31
        csrw    pmpcfg0, t0
        // Where it traps to, if there is none.
        .balign 256
1:
.endm
        KERNEL  user.ecall
        USER
        HANDLER skip
        li      t0, 0x1800
        csrc    mstatus, t0
        la      t0, 1f
        csrw    mepc, t0
        mret
1:
        LOOP    user.ecall
        ecall
        END     user.ecall

        KERNEL  user.all_registers
        USER
        HANDLER all_registers
        la      t0, data + 4096
        csrw    mscratch, t0
        li      t0, 0x1800
        csrc    mstatus, t0
        la      t0, 1f
        csrw    mepc, t0
        mret
1:
        LOOP    user.all_registers
        li      a7, 2
        ecall
        END     user.all_registers

        KERNEL  user.illegal_csr
        USER
        HANDLER skip
        li      t0, 0x1800
        csrc    mstatus, t0
        la      t0, 1f
        csrw    mepc, t0
        mret
1:
        LOOP    user.illegal_csr
        csrr    a0, mscratch
        END     user.illegal_csr

        // Supervisor mode without and with translation: a table of large pages that maps every address to itself, and one
        // of small pages for the data.
        AT      supervisor_skip
        csrr    t6, sepc
        addi    t6, t6, 4
        csrw    sepc, t6
        sret

.macro SUPERVISOR
        USER
        li      t0, 0x1800
        csrc    mstatus, t0
        li      t0, 0x800
        csrs    mstatus, t0
        li      t0, -1
        csrw    medeleg, t0
        la      t0, supervisor_skip
        csrw    stvec, t0
        la      t0, 1f
        csrw    mepc, t0
        mret
        .balign 4
1:
.endm
.macro TOUSER
        li      t0, 0x100
        csrc    sstatus, t0
        la      t0, 1f
        csrw    sepc, t0
        sret
        .balign 4
1:
.endm
        KERNEL  supervisor.illegal
        SUPERVISOR
        LOOP    supervisor.illegal
        .word   0xffffffff
        END     supervisor.illegal

        KERNEL  supervisor.user_ecall
        SUPERVISOR
        TOUSER
        LOOP    supervisor.user_ecall
        ecall
        END     supervisor.user_ecall

        READS   supervisor.read_scratch, sscratch
        WRITES  supervisor.write_scratch, sscratch, "li s2, 0"
        WRITES  supervisor.write_status, sstatus, "csrr s2, sstatus"
        WRITES  supervisor.write_epc, sepc, "la s2, done"

        // RAM by 16 pages of 4 KiB for the last 64 KiB of the image's 2 MiB, the rest by one large page.
.macro TRANSLATED access=0
        SUPERVISOR
#if __riscv_xlen == 64
        la      a0, tables
        li      a1, 4096
        add     a1, a0, a1
        // The root's entry for 0x80000000 points to the second table.
        srli    a2, a1, 12
        slli    a2, a2, 10
        ori     a2, a2, 1
        SX      a2, 16(a0)
        // The first 2 MiB: a large page. The next: a third table, of small pages with the same addresses.
        li      a2, (0x80000000 >> 2) | 0xef
        SX      a2, 0(a1)
        li      a4, 4096
        add     a3, a1, a4
        srli    a2, a3, 12
        slli    a2, a2, 10
        ori     a2, a2, 1
        SX      a2, 8(a1)
        li      a2, (0x80200000 >> 2) | 0xef
        li      a5, 512
2:      SX      a2, 0(a3)
        addi    a2, a2, 1024
        addi    a3, a3, 8
        addi    a5, a5, -1
        bnez    a5, 2b
        srli    a0, a0, 12
        li      a1, 8
        slli    a1, a1, 60
        or      a0, a0, a1
#else
        la      a0, tables
        li      a1, 4096
        add     a1, a0, a1
        li      a2, (0x80000000 >> 2) | 0xef
        li      a3, 2048
        add     a3, a0, a3
        SX      a2, 0(a3)
        li      a2, (0x80400000 >> 2) | 0xef
        SX      a2, 4(a3)
        srli    a0, a0, 12
        li      a1, 1
        slli    a1, a1, 31
        or      a0, a0, a1
#endif
        csrw    satp, a0
        sfence.vma
        li      a0, 0x80200000
.endm
        KERNEL  translated.loop
        TRANSLATED
        LOOP    translated.loop
        .rept   8
        LX      a1, 0(s0)
        add     a2, a1, a1
        .endr
        END     translated.loop

.macro PAGES name count passes=40
        KERNEL  \name, \passes
        TRANSLATED
        li      s2, 4096 + 64
        LOOP    \name
        mv      a1, a0
        li      a2, \count
3:      LX      a3, 0(a1)
        add     a1, a1, s2
        addi    a2, a2, -1
        bnez    a2, 3b
        END     \name
.endm
        PAGES   translated.pages_4, 4
        PAGES   translated.pages_16, 16
        PAGES   translated.pages_40, 40
        PAGES   translated.pages_200, 200, 10

        KERNEL  translated.fence
        TRANSLATED
        LOOP    translated.fence
        sfence.vma
        LX      a1, 0(s0)
        END     translated.fence

        KERNEL  translated.same_space
        TRANSLATED
        csrr    a0, satp
        LOOP    translated.same_space
        csrw    satp, a0
        LX      a1, 0(s0)
        END     translated.same_space

        // An address without a translation.
.macro NOPAGE name instruction
        KERNEL  \name
        TRANSLATED
        li      s2, 0x40000000
        LOOP    \name
        \instruction
        END     \name
.endm
        NOPAGE  translated.load_fault, "lw a1, 0(s2)"
        NOPAGE  translated.store_fault, "sw a1, 0(s2)"

        .data
        .balign 4096
tables: .zero   3 * 4096
        .text
