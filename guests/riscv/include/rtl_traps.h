// What the small trap kernels share: phases as in the lab's kernels, frames of all registers.

        .set    FRAME, 34 * XBYTES
        .set    EPC, 32 * XBYTES
        .set    STATUS, 33 * XBYTES
        .set    CROSSINGS, 25

.macro PHASE name
phase.\name\().\@:
.endm
.macro SAVE base, regs:vararg
        .irp    reg, \regs
        SX      x\reg, \reg * XBYTES(\base)
        .endr
.endm
.macro LOAD base, regs:vararg
        .irp    reg, \regs
        LX      x\reg, \reg * XBYTES(\base)
        .endr
.endm
#define ALL_BUT_SP 1,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
#define CALLER_SAVED 1,5,6,7,10,11,12,13,14,15,16,17,28,29,30,31
