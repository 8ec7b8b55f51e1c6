// The few lines of a C library that the user programs need. Programs use nothing but system calls and the
// counters, so the same source runs on our kernels, on the proxy kernel and on Linux.
#ifndef TOLL_LIB_H
#define TOLL_LIB_H

typedef unsigned char u8;
typedef unsigned long u64;

static inline long system_call(long number, long a, long b, long c) {
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
    return a0;
}

static inline void put(const char *text) {
    long n = 0;
    while (text[n]) n++;
    system_call(64, 1, (long)text, n);
}

static inline void put_number(long value) {
    char digits[24];
    int at = sizeof digits - 1;
    u64 rest = value < 0 ? -(u64)value : (u64)value;
    digits[at] = 0;
    do digits[--at] = '0' + rest % 10;
    while (rest /= 10);
    if (value < 0) digits[--at] = '-';
    put(digits + at);
}

#endif
