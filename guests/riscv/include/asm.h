// Shared by all assembly files of the guests: phase marks, the two privilege modes that a kernel can be built for, the
// trap frame, and register lists.
#ifndef TOLL_ASM_H
#define TOLL_ASM_H

// The CSRs of the kernel's own mode (privileged specification, 2.2; version 20240411 wherever it is cited):
// -DKERNEL_M builds a kernel for machine mode without translation, otherwise it is for supervisor mode under Sv39.
#ifdef KERNEL_M
#define X_SCRATCH mscratch
#define X_EPC mepc
#define X_STATUS mstatus
#define X_CAUSE mcause
#define X_TVAL mtval
#define X_TVEC mtvec
#define XRET mret
#else
#define X_SCRATCH sscratch
#define X_EPC sepc
#define X_STATUS sstatus
#define X_CAUSE scause
#define X_TVAL stval
#define X_TVEC stvec
#define XRET sret
#endif

// Zicfiss, by numbers, as the assembler does not have it.
#define CSR_SSP 0x011
#define CSR_MENVCFG 0x30a
#define CSR_SENVCFG 0x10a
#define ENVCFG_SSE 8

#define CAUSE_ILLEGAL 2
#define CAUSE_USER_ECALL 8

// The trap frame: register xN at 8*N (slot 0 is the shadow stack pointer's, if there is one), then pc, status, and room for floating point.
#define FRAME_SSP 0
#define FRAME_EPC (32 * 8)
#define FRAME_STATUS (33 * 8)
#define FRAME_FCSR (34 * 8)
#define FRAME_SATP (35 * 8)
#define FRAME_NEXT (36 * 8)
#define FRAME_VECTORS (37 * 8)
#define FRAME_F0 (38 * 8)
#define FRAME_SIZE (38 * 8)
#define FRAME_SIZE_FP (70 * 8)

// Fields with the same position in mstatus and sstatus.
#define STATUS_FS 0x6000
#define STATUS_FS_CLEAN 0x4000
#define STATUS_VS 0x600
#define STATUS_VS_INITIAL 0x200
#define STATUS_VS_CLEAN 0x400
#define STATUS_SIE 0x2
#define STATUS_SPP 0x100

// The table in kernel/calls.c has entries for system call numbers below this.
#define CALL_TABLE_SIZE 256
#define CALL_YIELD 124

// How long a task runs until the timer interrupts it: far longer than a switch, but short enough for a thousand switches.
// All engines tick once per hundred instructions.
#define SLICE_TICKS 20
#define SLICE_INSTRUCTIONS (SLICE_TICKS * 100)

// With PAIR the handler of the software interrupt raises the timer's, which is pending when the first one returns.
#ifdef PAIR
#define TIMER_HANDLER timer_interrupt
#else
#define TIMER_HANDLER unexpected_trap
#endif

#ifdef __ASSEMBLER__

// Instructions from here to the next mark in the source belong to this phase of the bill, whatever their address.
.macro PHASE name
phase.\name\().\@:
.endm

// The two counter reads around a crossing. The bill counts what retires between them.
.macro BEGIN reg
toll.begin.\@:
        csrr    \reg, instret
.endm
.macro END reg
toll.end.\@:
        csrr    \reg, instret
.endm

.macro SAVE base, regs:vararg
        .irp    reg, \regs
        sd      x\reg, 8*\reg(\base)
        .endr
.endm
.macro LOAD base, regs:vararg
        .irp    reg, \regs
        ld      x\reg, 8*\reg(\base)
        .endr
.endm

// All integer registers except the stack pointer (x2), which each kernel saves in its own way.
#define ALL_BUT_SP 1,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
// The caller-saved registers: ra, t0-t2, a0-a7, t3-t6.
#define CALLER_SAVED 1,5,6,7,10,11,12,13,14,15,16,17,28,29,30,31
#define ALL_FP 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31

.macro SAVE_FP base
        .irp    reg, ALL_FP
        fsd     f\reg, FRAME_F0+8*\reg(\base)
        .endr
.endm
.macro LOAD_FP base
        .irp    reg, ALL_FP
        fld     f\reg, FRAME_F0+8*\reg(\base)
        .endr
.endm

// Enters the first task after booting.
.macro FIRST_TASK
        la      t0, user_start
        csrw    X_EPC, t0
        li      sp, 0x80600000
        XRET
.endm

// The full save: every register, pc and status go into a frame of this size on the stack that sp points to; the
// program's own sp is in the scratch register. Leaves pc in t1, and status in t2 for the caller to store.
.macro SAVE_FULL size
        addi    sp, sp, -\size
        SAVE    sp, ALL_BUT_SP
        csrr    t0, X_SCRATCH
        csrr    t1, X_EPC
        csrr    t2, X_STATUS
        sd      t0, 16(sp)
        sd      t1, FRAME_EPC(sp)
.endm
// An entry in machine mode with the full save, up to the dispatch.
.macro ENTER_FULL
        PHASE   stack
        csrrw   sp, mscratch, sp
        PHASE   save
        SAVE_FULL FRAME_SIZE
        sd      t2, FRAME_STATUS(sp)
.endm
// The full restore; sp is loaded last.
.macro RESTORE_FULL
        ld      t0, FRAME_STATUS(sp)
        ld      t1, FRAME_EPC(sp)
        csrw    X_STATUS, t0
        csrw    X_EPC, t1
        LOAD    sp, ALL_BUT_SP
        ld      sp, 16(sp)
.endm

// Calls the handler of the system call in a7: seven instructions, or three if the number is out of range. The linker script
// puts the handler's code into the handler phase. The result is in a0.
.macro CALL_HANDLER
        li      t0, CALL_TABLE_SIZE
        bgeu    a7, t0, 8f
        la      t0, call_table
        sh3     t0, a7, t0
        ld      t0, 0(t0)
        jalr    t0
        j       9f
8:      call    sys_unimplemented
9:
.endm
// t0 = base + 8 * index, without the Zba extension.
.macro sh3 rd, index, base
        slli    t1, \index, 3
        add     \rd, \base, t1
.endm

#endif
#endif
