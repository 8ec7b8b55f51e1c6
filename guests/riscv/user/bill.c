// The program whose crossings are billed. It also measures with its own counter reads, so that the counts of the machine can
// be compared with those of the program.
#include "asm.h"
#include "lib.h"

enum kind { SYSTEM_CALL, SOFT_INTERRUPT, YIELD, TIMER };

// Written into the image before it is loaded; these are the defaults. Number -1: the six usual calls.
volatile struct {
    u64 magic, kind;
    long number;
    u64 iterations, dirty_fp;
} toll_params = {0x31304c4c4f54, SYSTEM_CALL, -1, 1000, 0};

extern volatile u64 toll_flag;
static volatile u64 shared;  // the counter that one task passes to the other

long toll_system_call(long number, const long *arguments, long *result);
long toll_soft_interrupt(volatile u64 *flag);
long toll_yield(volatile u64 *begin);
long toll_yield_vector(volatile u64 *begin);
void toll_use_vectors(void);
void toll_dirty_fp(void);

// The first crossing alone, then the rest together.
static volatile struct {
    u64 seen, single, min, max, sum;
} tally;

static void record(u64 counted) {
    if (tally.seen == 0) {
        tally.single = counted;
        tally.min = ~0UL;
    } else if (tally.seen <= toll_params.iterations) {
        if (counted < tally.min) tally.min = counted;
        if (counted > tally.max) tally.max = counted;
        tally.sum += counted;
    }
    tally.seen++;
}

static u64 instret(void) {
    u64 n;
    __asm__ volatile("csrr %0, instret" : "=r"(n));
    return n;
}

static int wanted(void) { return tally.seen <= toll_params.iterations; }

static void put_field(const char *name, long value) {
    put(" ");
    put(name);
    put(" ");
    put_number(value);
}

static void report(const char *kind, long number, long result) {
    put("toll ");
    put(kind);
    put_field("number", number);
    put_field("result", result);
    put_field("single", tally.single);
    put_field("min", tally.min);
    put_field("max", tally.max);
    put_field("sum", tally.sum);
    put_field("count", toll_params.iterations);
    put("\n");
    tally.seen = tally.sum = tally.max = 0;
}

static void system_calls(long number) {
    static char dot = '.';
    static long pair[2];
    long arguments[3] = {0, 0, 0}, result = 0;
    if (number == 64) {
        arguments[0] = 1;
        arguments[1] = (long)&dot;
        arguments[2] = 1;
    } else if (number == 113) {
        arguments[0] = 1;
        arguments[1] = (long)pair;
    } else if (number == 169) {
        arguments[0] = (long)pair;
    }
    while (wanted()) {
        if (toll_params.dirty_fp) toll_dirty_fp();
        record(toll_system_call(number, arguments, &result));
        // Written bytes are sent here, not inside a crossing.
        if (number == 64) system_call(82, 1, 0, 0);
    }
    if (number == 64) put("\n");
    report("call", number, result);
}

// Both tasks run this; each checks that it woke up on its own stack.
static void yield_forever(long self) {
    volatile long id = self;
#ifdef VECTORS
    if (toll_params.dirty_fp) toll_use_vectors();
#endif
    while (wanted()) {
#ifdef VECTORS
        record(toll_params.dirty_fp ? toll_yield_vector(&shared) : toll_yield(&shared));
#else
        record(toll_yield(&shared));
#endif
        if (id != self) system_call(93, 71, 0, 0);
    }
}

int main(void) {
    static const long usual[] = {172, 174, 64, 113, 169, 255};
    if (toll_params.kind == SYSTEM_CALL && toll_params.number >= 0) {
        system_calls(toll_params.number);
    } else if (toll_params.kind == SYSTEM_CALL) {
        for (int i = 0; i < 6; i++) system_calls(usual[i]);
    } else if (toll_params.kind == SOFT_INTERRUPT) {
        while (wanted()) record(toll_soft_interrupt(&toll_flag));
        report("interrupt", 3, 0);
    } else if (toll_params.kind == YIELD) {
        yield_forever(0);
        report("yield", 124, 0);
    } else {
        // No counter can be read at the moment of an interrupt, so the switches are only counted. The program waits
        // in user mode, where the timer interrupts it.
        do {
            u64 start = instret();
            while (instret() - start < (toll_params.iterations + 2) * 2 * SLICE_INSTRUCTIONS) {}
        } while ((u64)system_call(245, 0, 0, 0) <= toll_params.iterations);
        put("toll timer");
        put_field("count", system_call(245, 0, 0, 0));
        put("\n");
    }
    return 0;
}

void partner(void) {
    if (toll_params.kind == YIELD) yield_forever(1);
    for (;;)
        if (toll_params.kind != TIMER) system_call(124, 0, 0, 0);
}
