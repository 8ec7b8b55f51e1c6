// image: ctx_switch kernel=full
// image: ctx_switch-linux linux
// One getpid between two reads of the cycle counter, in C. The three instructions are one asm statement: with
// a helper around rdcycle and without optimization, the compiler spills between them and may reuse a7, and the
// figure is wrong without a warning.
#include "../user/lib.h"

int main(void) {
    register long a0 __asm__("a0") = 0;
    register long a7 __asm__("a7") = 172;
    long before, after;
    __asm__ volatile("rdcycle %0\n\tecall\n\trdcycle %1" : "=&r"(before), "=&r"(after), "+r"(a0) : "r"(a7) : "memory");
    long pid = a0;
    put("getpid ");
    put_number(pid);
    put(": ");
    put_number(after - before);
    put(" cycles\n");
    return 0;
}
