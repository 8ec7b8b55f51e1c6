// image: rtl-kernels-rv32 bare -march=rv32imac_zicsr_zifencei -mabi=ilp32
// image: rtl-kernels-rv64 bare
// Small loops whose cycles are compared with the RTL of cores (xtask/rtl): one hazard or latency each. A word that is
// written into the image before it is loaded chooses the kernel.
#include "rtl.h"

        .option norvc
        .text
        .globl  _start, done
_start:
        la      s0, data
        la      s1, data + 1024
        la      sp, data + 8192
        // The RTL's registers have no defined value.
        .irp r, ra, gp, tp, t1, t2, t3, t4, t5, t6, a0, a1, a2, a3, a4, a5, a6, a7, s2, s3, s4, s5, s6, s7, s8, s9, s10
        li      \r, 0
        .endr
        la      t0, selected
        LX      t1, XBYTES(t0)
        la      t0, _start
        add     t0, t0, t1
        jr      t0
        .balign 64
done:   j       done

#include "../rtl/integer.S"
#include "../rtl/memory.S"
#include "../rtl/control.S"
#include "../rtl/system.S"
#include "../rtl/float.S"

        .data
        .balign 64
        .globl  selected
        // A magic number (RTL01 from its last byte on), and the distance from _start.
selected:
#if __riscv_xlen == 64
        .dword  0x31304c5452, 0
#else
        .word   0x304c5452, 0
#endif
        .balign 4096
        .globl  data
data:   .zero   1024
        .zero   16384
