// The trap's code of the switching kernel, whose labels are named by NAME: kernels/switch.S. With SPACE it changes the
// address space, with FLUSH it also flushes the TLB; with VECTORS it switches those by macros of kernels/vector.S, with SHADOW the
// shadow stack pointer.
        .balign 4
        .globl  NAME(trap_vector)
NAME(trap_vector):
        PHASE   save
        csrrw   t6, sscratch, t6
        SAVE    t6, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30
        csrr    t0, sscratch
        csrr    t1, sepc
        csrr    t2, sstatus
        sd      t0, 31*8(t6)
        sd      t1, FRAME_EPC(t6)
        sd      t2, FRAME_STATUS(t6)
        mv      s0, t6
        PHASE   stack
        la      sp, kernel_stack_top
        PHASE   dispatch
        csrr    t0, scause
        bltz    t0, NAME(timer)
#ifdef VECTORS
        li      t2, CAUSE_ILLEGAL
        beq     t0, t2, NAME(first_use)
#endif
        li      t2, CAUSE_USER_ECALL
        bne     t0, t2, unexpected_trap
        addi    t1, t1, 4
        sd      t1, FRAME_EPC(s0)
        li      t0, CALL_YIELD
        beq     a7, t0, NAME(yield)
        CALL_HANDLER
        sd      a0, 80(s0)
        mv      t6, s0
        j       NAME(resume)
NAME(yield):
        sd      zero, 80(s0)
NAME(reschedule):
#ifdef VECTORS
        PHASE   save
        SAVE_VECTORS
#endif
#ifdef SHADOW
        PHASE   save
        csrr    t0, CSR_SSP
        sd      t0, FRAME_SSP(s0)
#endif
        PHASE   schedule
        ld      t6, FRAME_NEXT(s0)
        la      t0, switches
        ld      t1, 0(t0)
        addi    t1, t1, 1
        sd      t1, 0(t0)
#ifdef SPACE
        PHASE   space
        ld      t0, FRAME_SATP(t6)
        csrw    satp, t0
#ifdef FLUSH
        sfence.vma
#endif
#endif
#ifdef VECTORS
        PHASE   restore
        RESTORE_VECTORS
#endif
#ifdef SHADOW
        PHASE   restore
        ld      t0, FRAME_SSP(t6)
        csrw    CSR_SSP, t0
#endif
NAME(resume):
        PHASE   restore
        csrw    sscratch, t6
        ld      t0, FRAME_STATUS(t6)
        ld      t1, FRAME_EPC(t6)
        csrw    sstatus, t0
        csrw    sepc, t1
        LOAD    t6, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        PHASE   return
        sret

        PHASE   dispatch
NAME(timer):
        li      a0, SLICE_TICKS
        ecall                           // firmware sets the next tick
        j       NAME(reschedule)
