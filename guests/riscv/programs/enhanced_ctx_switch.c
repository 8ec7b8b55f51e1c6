// image: enhanced_ctx_switch kernel=full
// image: enhanced_ctx_switch-linux linux
// Several system calls, each once and then 1,000 times, in C.
#include "../user/lib.h"

enum { ITERATIONS = 1000 };

// Not inlined: every call is measured by the same three instructions.
__attribute__((noinline)) static long crossing(long number, long first, long second, long third) {
    register long a0 __asm__("a0") = first;
    register long a1 __asm__("a1") = second;
    register long a2 __asm__("a2") = third;
    register long a7 __asm__("a7") = number;
    long before, after;
    __asm__ volatile("rdcycle %0\n\tecall\n\trdcycle %1"
                     : "=&r"(before), "=&r"(after), "+r"(a0)
                     : "r"(a1), "r"(a2), "r"(a7)
                     : "memory");
    return after - before;
}

static void measure(const char *name, long number, long first, long second, long third) {
    long single = crossing(number, first, second, third);
    long min = single, max = single, sum = 0;
    for (int i = 0; i < ITERATIONS; i++) {
        long cycles = crossing(number, first, second, third);
        if (i == 0 || cycles < min) min = cycles;
        if (i == 0 || cycles > max) max = cycles;
        sum += cycles;
    }
    put(name);
    put(" (");
    put_number(number);
    put("): single ");
    put_number(single);
    put(", min ");
    put_number(min);
    put(", mean ");
    put_number(sum / ITERATIONS);
    put(", max ");
    put_number(max);
    put("\n");
}

int main(void) {
    // Not static: the proxy kernel cannot load a data segment that contains only zeros.
    long pair[2] = {0, 0};
    measure("getpid", 172, 0, 0, 0);
    measure("settimeofday, the note's number", 170, 0, 0, 0);
    measure("getuid", 174, 0, 0, 0);
    measure("clock_gettime", 113, 1, (long)pair, 0);
    measure("gettimeofday", 169, (long)pair, 0, 0);
    measure("unimplemented", 255, 0, 0, 0);
    // Writes no bytes: a thousand of them would be on the terminal.
    measure("write of nothing", 64, 1, (long)pair, 0);
    return 0;
}
