// From reset to the user program: parks all harts but one, finds the devices, enables the counters, delegates traps, and
// enters the first task. The machine-mode part of a supervisor kernel is here too.
#include "asm.h"

        .section .text.boot, "ax"
        .globl  _start
_start:
        PHASE   boot
        csrw    mie, zero
        csrr    t0, mhartid
1:      bnez    t0, 1b
        mv      s1, a1
        la      t0, boot_fault
        csrw    mtvec, t0
        la      sp, kernel_stack_top
        // Floating point is enabled, with clean registers (mstatus.FS = Initial).
        li      t0, STATUS_FS
        csrs    mstatus, t0
        csrw    fcsr, zero
        csrc    mstatus, t0
        li      t0, 0x2000
        csrs    mstatus, t0
        // U and S may use all memory. A machine without PMP traps here and continues.
        la      t0, 2f
        csrw    mtvec, t0
        li      t0, -1
        csrw    pmpaddr0, t0
        li      t0, 0x1f
        csrw    pmpcfg0, t0
        .balign 4
2:      la      t0, machine_trap
        csrw    mtvec, t0
        la      t0, firmware_frame
        csrw    mscratch, t0
        // cycle, time and instret may be read below machine mode.
        li      t0, 7
        csrw    mcounteren, t0
        csrw    scounteren, t0
#ifdef SHADOW
        li      t0, ENVCFG_SSE
        csrs    CSR_MENVCFG, t0
#endif
        mv      a0, s1
        call    boot_c
#ifdef KERNEL_M
        la      t0, trap_vector
        csrw    mtvec, t0
        li      t0, 0x1800              // mstatus.MPP = U
        csrc    mstatus, t0
        li      t0, 0x80                // mstatus.MPIE: no effect below M, where machine interrupts are always enabled
        csrs    mstatus, t0
#ifdef PAIR
        li      t0, 0x88                // mie.MTIE, MSIE
#else
        li      t0, 8
#endif
        csrw    mie, t0
#else
        // Exceptions of user programs are delegated to the supervisor, with its software and timer interrupts.
        li      t0, 0xb1ff
        csrw    medeleg, t0
        li      t0, 0x222
        csrw    mideleg, t0
        la      t0, trap_vector
        csrw    stvec, t0
        li      t0, 0x22                // sie: STIE, SSIE; always enabled in U, in S only if the kernel enables them
        csrw    sie, t0
        // Continue in S, under translation.
        li      t0, 0x1800
        csrc    mstatus, t0
        li      t0, 0x0800
        csrs    mstatus, t0
        la      t0, 3f
        csrw    mepc, t0
        mret
3:      ld      t0, first_satp
        csrw    satp, t0
        sfence.vma
        li      t0, STATUS_SPP
        csrc    sstatus, t0
#endif
        j       kernel_enter            // the kernel's own: sets its scratch register and enters task 0

        .balign 4
boot_fault:
        csrr    a0, mcause
        csrr    a1, mepc
        csrr    a2, mtval
        la      sp, kernel_stack_top
        call    fault_c

// Machine mode below a supervisor kernel: emulates a timer as firmware does on a machine without Sstc. The timer interrupt
// is forwarded to the supervisor, whose ecall sets the next one (a0 ticks from now).
        .balign 4
machine_trap:
        PHASE   firmware
        csrrw   sp, mscratch, sp
        sd      t0, 0(sp)
        sd      t1, 8(sp)
        csrr    t0, mcause
        bltz    t0, machine_timer
        li      t1, 9
        bne     t0, t1, boot_fault
        li      t0, 0x200bff8           // mtime
        ld      t1, 0(t0)
        add     t1, t1, a0
        li      t0, 0x2004000           // mtimecmp
        sd      t1, 0(t0)
        li      t0, 0x20
        csrc    mip, t0                 // STIP
        li      t0, 0x80
        csrs    mie, t0                 // MTIE
        csrr    t0, mepc
        addi    t0, t0, 4
        csrw    mepc, t0
        j       1f
machine_timer:
        li      t0, 0x20
        csrs    mip, t0
        li      t0, 0x80
        csrc    mie, t0
1:      ld      t0, 0(sp)
        ld      t1, 8(sp)
        csrrw   sp, mscratch, sp
        mret

        PHASE   fault
// A trap that no kernel handles: print it and stop.
        .globl  unexpected_trap
unexpected_trap:
        csrr    a0, X_CAUSE
        csrr    a1, X_EPC
        csrr    a2, X_TVAL
        la      sp, kernel_stack_top
        call    fault_c

        .bss
        .balign 16
firmware_frame:
        .skip   32
        .skip   8192
        .globl  kernel_stack_top
kernel_stack_top:
