// image: note-linux linux
// image: note-O0-linux linux -O0
// The measurement as it is often written: a helper around rdcycle, the call's number in a register variable.
// Optimized, the helper is inlined and the figure is right. Without, the helper's own instructions are counted
// and its result is returned in a0, which held that of the system call. 170 is the number that is often copied for
// getpid; it is settimeofday.
#include "../user/lib.h"

static u64 rdcycle(void) {
    u64 cycle;
    __asm__ volatile("rdcycle %0" : "=r"(cycle));
    return cycle;
}

static void report(const char *name, u64 cycles, long result) {
    put(name);
    put_number((long)cycles);
    put(" cycles, result ");
    put_number(result);
    put("\n");
}

#define MEASURE(name, number)                                           \
    do {                                                                \
        register long a7 __asm__("a7") = number;                        \
        register long a0 __asm__("a0");                                 \
        u64 start = rdcycle();                                          \
        __asm__ volatile("ecall" : "=r"(a0) : "r"(a7) : "memory");      \
        u64 end = rdcycle();                                            \
        long result = a0;                                               \
        report(name, end - start, result);                              \
    } while (0)

int main(void) {
    MEASURE("170: ", 170);
    MEASURE("172: ", 172);
    return 0;
}
