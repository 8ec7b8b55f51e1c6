// The part of booting that is simpler in C.
#include "kernel.h"

u64 first_satp, second_satp;

// Written into the image before it is loaded: whether the switching kernel also switches tasks on timer interrupts.
volatile u64 toll_wants_timer __attribute__((section(".data")));

void boot_c(const void *tree) {
    devices_find(tree);
    timebase = devicetree_u32(tree, "timebase-frequency", 10000000);
    first_satp = space_make(0, 1);
    second_satp = space_make(1, 2);
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
