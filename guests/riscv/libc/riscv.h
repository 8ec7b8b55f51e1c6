// The counters, and an ecall.
#ifndef TOLLGATE_RISCV_H
#define TOLLGATE_RISCV_H

static inline unsigned long rdcycle(void) {
    unsigned long value;
    __asm__ volatile("csrr %0, cycle" : "=r"(value));
    return value;
}

static inline unsigned long rdinstret(void) {
    unsigned long value;
    __asm__ volatile("csrr %0, instret" : "=r"(value));
    return value;
}

static inline long ecall(long number, long a, long b, long c) {
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
    return a0;
}

#endif
