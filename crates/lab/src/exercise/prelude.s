# Macros for the harness of an exercise; a harness begins with .include "prelude.s".

# Lets U-mode use all memory (one PMP region, privileged specification 3.7) and read the counters.
        .macro  open_machine
        li      t0, -1
        csrw    pmpaddr0, t0
        li      t0, 0x1f                # NAPOT, RWX
        csrw    pmpcfg0, t0
        csrw    mcounteren, t0
        csrw    scounteren, t0
        .endm

# Traps go to a label, and mscratch holds the end of a stack.
        .macro  traps_to entry, stack_end
        la      t0, \entry
        csrw    mtvec, t0
        la      t0, \stack_end
        csrw    mscratch, t0
        .endm

# From M-mode to U-mode at a label.
        .macro  enter_user label
        la      t0, \label
        csrw    mepc, t0
        li      t0, 0x1800              # mstatus.MPP
        csrc    mstatus, t0
        mret
        .endm
