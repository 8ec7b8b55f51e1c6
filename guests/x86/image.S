// The head of the image: fields for the loader, parameters, and the multiboot header for QEMU.
#include "layout.h"

.section .header, "a"
        .ascii "TOLLX86\0"
        .long VERSION, image_end - LOAD
        .long start64, pml4
        .long results, R_BYTES
        .long memory_end, 0
// Parameters, at 0x28: samples of a phase, flags, sabotage, ticks to the deadline of `hlt`, mask of phases.
        .globl p_samples, p_flags, p_sabotage, p_deadline, p_mask
p_samples:  .long 64
p_flags:    .long 0
p_sabotage: .long 0
p_deadline: .long 1000000
p_mask:     .quad -1
// Multiboot 1 with addresses, at 0x40.
multiboot:
        .long 0x1badb002, 0x10000, -(0x1badb002 + 0x10000)
        .long multiboot, LOAD, image_end, memory_end, start32

// Address translation: the first 2 MiB at their own place, and one page table for the phases that need a
// translation of their own. Ring 3 may access all of it. Accessed and dirty bits are set, so that
// a page-table walk never writes.
.section .tables, "aw"
        .balign 4096
        .globl pml4
pml4:   .quad pdpt + 0x27
        .fill 511, 8, 0
pdpt:   .quad pd + 0x27
        .fill 511, 8, 0
pd:     .quad 0xe7, pt + 0x27
        .fill 510, 8, 0
pt:     .quad touched + 0x67, 0, NOWHERE_PHYSICAL + 0x7f, 0xfee0007f
        .fill 508, 8, 0
touched:
        .fill 512, 8, 0
