// Page tables for Sv39 (privileged specification, 10.4): everything at its own address, in pages of 1 GiB for
// devices and 2 MiB for memory. The private region of space 1 has other memory than that of space 0.
#include "kernel.h"

enum { V = 1, R = 2, W = 4, X = 8, U = 16, G = 32, A = 64, D = 128 };

static u64 root[2][512] __attribute__((aligned(4096)));
static u64 middle[2][512] __attribute__((aligned(4096)));

static u64 entry(u64 address, u64 flags) { return address >> 12 << 10 | flags | V; }

#ifdef WORKLOAD
// Pages of 4 KiB, as programs have: TLB entries are a part of the cost of a trap.
static u64 leaf[4][512] __attribute__((aligned(4096)));

static u64 region(int which, u64 address, u64 flags) {
    for (u64 page = 0; page < 512; page++) leaf[which][page] = entry(address + page * 4096, flags);
    return entry((u64)leaf[which], 0);
}
#endif

u64 space_make(int which, int asid) {
    u64 data = R | W | A | D;
    // The kernel's pages are global: a flush of one address space keeps them.
    root[which][0] = entry(0, data | G);
    root[which][2] = entry((u64)middle[which], 0);
    middle[which][0] = entry(KERNEL_BASE, data | X | G);
    middle[which][1] = entry(USER_BASE, data | X | U);
    middle[which][2] = entry(which ? PRIVATE_B : PRIVATE_A, data | U);
    middle[which][3] = which ? 0 : entry(PRIVATE_B, data | U);
#ifdef WORKLOAD
    if (which == 0) {
        middle[0][0] = region(0, KERNEL_BASE, data | X | G);
        middle[0][1] = region(1, USER_BASE, data | X | U);
        middle[0][2] = region(2, PRIVATE_A, data | U);
        middle[0][3] = region(3, PRIVATE_B, data | U);
    }
#endif
    return 8UL << 60 | (u64)asid << 44 | (u64)root[which] >> 12;
}

#ifdef ASID
// How many bits an address space identifier has (privileged specification, 10.1.11: 0 to 16). Of all ones in satp, those
// that the hart does not have read as zero. Machine mode, which this runs in, is not translated.
u64 asid_probe(u64 satp) {
    u64 all = 0xffffUL << 44, kept, bits = 0;
    __asm__ volatile("csrw satp, %1\n\tcsrr %0, satp\n\tcsrw satp, zero" : "=r"(kept) : "r"(satp | all));
    for (kept = (kept & all) >> 44; kept; kept >>= 1) bits++;
    return bits;
}
#endif
