// image: workload kernel=full -DWORKLOAD
// A program and a kernel that each have a working set, with many traps. What the program does between two traps is
// written into the image before it is loaded.
#include "../user/lib.h"

enum kind { WALK, CHASE, COMPUTE, OWN };
enum { LINE = 64, MOST = 1 << 20 };

volatile struct {
    u64 magic, kind;
    u64 bytes;  // the program's working set
    u64 steps;  // of the loop below, between two traps
    u64 traps;
    u64 touch;  // bytes that the kernel touches in each
    // The user's program, `void work(char *set, unsigned long bytes)`, if one is loaded beside this one.
    void (*own)(u8 *set, u64 bytes);
} toll_workload = {0x31304b524f57, WALK, 16384, 1000, 10, 0, 0};

// After the program. Its pages are mapped from the start.
static u8 *const set = (u8 *)0x80400000;

// Each line of the working set in order: 5 instructions per step, and one more at the end of a round.
static u8 *walk(u8 *at, u64 bytes, u64 steps) {
    __asm__ volatile(
        "1: ld t0, 0(%0)\n\t"
        "addi %0, %0, 64\n\t"
        "bltu %0, %2, 2f\n\t"
        "mv %0, %3\n"
        "2: addi %1, %1, -1\n\t"
        "bnez %1, 1b"
        : "+r"(at), "+r"(steps)
        : "r"(set + bytes), "r"(set)
        : "t0", "memory");
    return at;
}

// From line to line in an order that no prefetcher predicts; each load depends on the previous one: 3 per step.
static u8 *chase(u8 *at, u64 steps) {
    __asm__ volatile(
        "1: ld %0, 0(%0)\n\t"
        "addi %1, %1, -1\n\t"
        "bnez %1, 1b"
        : "+r"(at), "+r"(steps)::"memory");
    return at;
}

// No memory accesses: 4 per step.
static void compute(u64 steps) {
    __asm__ volatile(
        "1: mul t0, t0, t1\n\t"
        "add t1, t1, t0\n\t"
        "addi %0, %0, -1\n\t"
        "bnez %0, 1b"
        : "+r"(steps)::"t0", "t1");
}

static u8 *work(u8 *at, u64 steps) {
    if (toll_workload.kind == OWN) {
        for (u64 i = 0; i < steps; i++) toll_workload.own(set, toll_workload.bytes);
        return at;
    }
    if (toll_workload.kind == WALK) return walk(at, toll_workload.bytes, steps);
    if (toll_workload.kind == CHASE) return chase(at, steps);
    compute(steps);
    return at;
}

// One cycle through all lines (Sattolo's shuffle), the same in every run.
static void shuffle(u64 lines) {
    u64 random = 42;
    for (u64 i = 0; i < lines; i++) *(u64 *)(set + i * LINE) = i;
    for (u64 i = lines - 1; i > 0; i--) {
        random = random * 6364136223846793005UL + 1442695040888963407UL;
        u64 j = (random >> 33) % i;
        u64 other = *(u64 *)(set + j * LINE);
        *(u64 *)(set + j * LINE) = *(u64 *)(set + i * LINE);
        *(u64 *)(set + i * LINE) = other;
    }
    for (u64 i = 0; i < lines; i++) *(u64 *)(set + i * LINE) = (u64)set + *(u64 *)(set + i * LINE) * LINE;
}

int main(void) {
    u64 lines = toll_workload.bytes / LINE;
    if (lines == 0 || toll_workload.bytes > MOST || toll_workload.steps == 0) return 1;
    shuffle(lines);
    // Three rounds fill the caches.
    u8 *at = work(set, toll_workload.kind == OWN ? 3 : 3 * lines);
    system_call(250, toll_workload.touch, 0, 0);
    at = work(at, toll_workload.steps);
    __asm__ volatile("toll.begin.work: csrr zero, instret" ::: "memory");
    for (u64 i = 0; i < toll_workload.traps; i++) {
        system_call(250, toll_workload.touch, 0, 0);
        at = work(at, toll_workload.steps);
    }
    __asm__ volatile("toll.end.work: csrr zero, instret" ::: "memory");
    return at == 0;
}
