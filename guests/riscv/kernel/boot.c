// The part of booting that is simpler in C.
#include "kernel.h"

u64 first_satp, second_satp;
#ifdef ASID
u64 asid_bits;
#endif

// Written into the image before it is loaded: whether the switching kernel also switches tasks on timer interrupts.
volatile u64 toll_wants_timer __attribute__((section(".data")));

void boot_c(const void *tree) {
#ifdef PAIR
    *(volatile u64 *)CLINT_MTIMECMP = ~0UL;
#endif
    devices_find(tree);
    timebase = devicetree_u32(tree, "timebase-frequency", 10000000);
    first_satp = space_make(0, 1);
    second_satp = space_make(1, 2);
#ifdef ASID
    asid_bits = asid_probe(first_satp);
    // One bit tells 1 from 0.
    if (asid_bits < 2) second_satp = space_make(1, 0);
    console_append("toll asid bits ");
    if (asid_bits > 9) console_append("1");
    console_append((char[]){'0' + asid_bits % 10, '\n', 0});
#endif
}

static void say(const char *text) {
    while (*text) console_put(*text++);
}

static void say_hex(u64 value) {
    for (int shift = 60; shift >= 0; shift -= 4) console_put("0123456789abcdef"[value >> shift & 15]);
}

void fault_c(u64 cause, u64 pc, u64 value) {
    console_flush();
    say("kernel: unexpected trap, cause ");
    say_hex(cause);
    say(" pc ");
    say_hex(pc);
    say(" value ");
    say_hex(value);
    say("\n");
    power_off(70);
}
