// Calls of an empty function that begins with a push, for perf to probe: nanoseconds for each call in the lowest tenth of
// the batches, which is what tollgate reports of its own.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCHES 500
#define CALLS 200

#ifdef __x86_64__
__asm__(".globl probed\n.type probed, @function\nprobed: push %rbp\npop %rbp\nret\n.size probed, .-probed");
void probed(void);
#else
__attribute__((noinline)) void probed(void) { __asm__ volatile("" ::: "memory"); }
#endif

static int order(const void *a, const void *b) {
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

int main(void) {
    static uint64_t times[BATCHES];
    for (int round = 0; round < 2; round++) {
        for (int batch = 0; batch < BATCHES; batch++) {
            uint64_t begin = now();
            for (int call = 0; call < CALLS; call++) probed();
            times[batch] = now() - begin;
        }
    }
    qsort(times, BATCHES, sizeof *times, order);
    printf("%.3f\n", (double)times[BATCHES / 10] / CALLS);
    return 0;
}
