// image: probe linux
// The first process of a kernel whose system calls are billed (crates/lab/src/kernel): it makes each call many times with
// warm caches, then a few times after it has read more memory than caches hold, and switches the machine off. Who
// watches sees the calls themselves; so nothing is measured or printed here.
#include "lib.h"

enum { GETPID = 172, GETPPID = 173, READ = 63, WRITE = 64, OPENAT = 56, CLOSE = 57, REBOOT = 142 };
enum { HERE = -100, WARM = 200, EVICTED = 12, LINE = 64 };

static u8 memory[2 << 20];

static void evict(void) {
    for (u64 i = 0; i < sizeof memory; i += LINE) *(volatile u8 *)&memory[i];
}

static void calls(long number, long a, long b, long c) {
    for (int i = 0; i < WARM + EVICTED; i++) {
        if (i >= WARM) evict();
        long result = system_call(number, a, b, c);
        if (number == OPENAT) system_call(CLOSE, result, 0, 0);
    }
}

int main(void) {
    // Pages of its own, not all of them the zero page.
    for (u64 i = 0; i < sizeof memory; i += 4096) memory[i] = 1;
    // Who watches waits for this one.
    for (int i = 0; i < 1000; i++) system_call(GETPPID, 0, 0, 0);
    long zero = system_call(OPENAT, HERE, (long)"/dev/zero", 0);
    long null = system_call(OPENAT, HERE, (long)"/dev/null", 1);
    u8 byte = 0;
    calls(GETPID, 0, 0, 0);
    calls(READ, zero, (long)&byte, 1);
    calls(WRITE, null, (long)&byte, 1);
    calls(OPENAT, HERE, (long)"/init", 0);
    // Linux's magic numbers, and LINUX_REBOOT_CMD_POWER_OFF.
    system_call(REBOOT, 0xfee1dead, 672274793, 0x4321fedc);
    return 0;
}
