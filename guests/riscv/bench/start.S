# Enters main in S-mode under Sv39, with memory mapped to itself in 2 MiB pages (RV32: Sv32, 4 MiB), and ends the run through HTIF.
#if __riscv_xlen == 32
#define STORE sw
#else
#define STORE sd
#endif

    .section .text.start, "ax"
    .globl _start
_start:
    la sp, stack_top
    la t0, fail
    csrw mtvec, t0
    # Physical memory protection: everything allowed.
    li t0, -1
    csrw pmpaddr0, t0
    li t0, 0x1f
    csrw pmpcfg0, t0
    la t0, root
#if __riscv_xlen == 32
    # The gigabyte at 0x80000000 is entries 512 to 767: pages that are readable, writable, executable, accessed and dirty.
    li t2, 0x80000000 >> 2 | 0xcf
    li t3, 256
    li t4, 0x400000 >> 2
    li t1, 2048
    add t1, t1, t0
1:  sw t2, 0(t1)
#ifdef USER
    # The same for U-mode at 0xc0000000; its traps go to S-mode.
    ori t5, t2, 0x10
    sw t5, 1024(t1)
#endif
    add t2, t2, t4
    addi t1, t1, 4
    addi t3, t3, -1
    bnez t3, 1b
#ifdef USER
    li t2, -1
    csrw medeleg, t2
#endif
#else
    # Root table: the gigabyte at 0x80000000 is entry 2.
    la t1, level1
    srli t2, t1, 2
    ori t2, t2, 1
    sd t2, 16(t0)
    # 512 pages of 2 MiB, readable, writable, executable, accessed and dirty.
    li t2, 0x80000000 >> 2 | 0xcf
    li t3, 512
    li t4, 0x200000 >> 2
1:  sd t2, 0(t1)
    add t2, t2, t4
    addi t1, t1, 8
    addi t3, t3, -1
    bnez t3, 1b
#ifdef USER
    # The same gigabyte for U-mode at 0xc0000000, entry 3; its traps go to S-mode.
    li t2, 0x80000000 >> 2 | 0xdf
    sd t2, 24(t0)
    li t2, -1
    csrw medeleg, t2
#endif
#endif
    srli t0, t0, 12
#if __riscv_xlen == 32
    li t1, 0x80000000
#else
    li t1, 8
    slli t1, t1, 60
#endif
    or t0, t0, t1
    csrw satp, t0
    sfence.vma
    li t0, 0x6000 | 0x0800
    csrw mstatus, t0
    la t0, 2f
    csrw mepc, t0
    mret
2:  call main
    # The checksum goes to the host as the exit code.
#if __riscv_xlen == 32
    slli a0, a0, 1
#else
    slli a0, a0, 33
    srli a0, a0, 32
#endif
    ori a0, a0, 1
    la t0, tohost
    STORE a0, 0(t0)
3:  j 3b
    .align 2
fail:
    li a0, 3
    la t0, tohost
    STORE a0, 0(t0)
    j fail

    .section .bss.tables, "aw", @nobits
    .align 12
root:   .space 4096
level1: .space 4096
    .align 12
    .space 65536
stack_top:

    .section .tohost, "aw", @progbits
    .align 6
    .globl tohost
    .globl fromhost
    .type tohost, @object
    .size tohost, 8
    .type fromhost, @object
    .size fromhost, 8
tohost:   .dword 0
    .align 6
fromhost: .dword 0
