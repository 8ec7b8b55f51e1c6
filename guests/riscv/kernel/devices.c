// The console and power-off: Spike's host-target interface, or the 16550 UART and the test finisher of QEMU's virt machine.
// The device tree decides, so that one image runs on both.
#include "kernel.h"

// Spike and QEMU find these two words by their symbols in the ELF.
volatile u64 tohost __attribute__((section(".htif"), aligned(64)));
volatile u64 fromhost __attribute__((section(".htif"), aligned(64)));

static int have_uart;

void devices_find(const void *tree) {
    // Spike also has a UART but no finisher: HTIF is tried first, and used without a device tree.
    have_uart = !devicetree_has(tree, "ucb,htif0") && devicetree_has(tree, "ns16550a");
}

static void htif_send(u64 command) {
    while (tohost) fromhost = 0;
    tohost = command;
}

void console_put(u8 byte) {
    if (have_uart) {
        volatile u8 *uart = (volatile u8 *)UART;
        while (!(uart[5] & 0x20)) {}
        uart[0] = byte;
    } else {
        htif_send(1UL << 56 | 1UL << 48 | byte);
    }
}

void power_off(u64 status) {
    console_flush();
    for (;;) {
        if (have_uart)
            *(volatile u32 *)FINISHER = status ? (u32)status << 16 | 0x3333 : 0x5555;
        else
            htif_send(status << 1 | 1);
    }
}
