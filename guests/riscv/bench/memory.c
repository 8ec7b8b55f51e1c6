// Memory beyond the caches: a chain of lines in random order, walks with several strides, a copy, and random additions.
typedef unsigned long long u64;
typedef unsigned int u32;

enum { LINES = 1 << 15, WORDS = LINES * 8 };

static struct line {
    struct line *next;
    u64 words[7];
} lines[LINES] __attribute__((aligned(64)));
static u64 copy[WORDS];
static u64 seed = 88172645463325252ull;

static u64 xorshift(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

// One cycle through all lines (Sattolo's algorithm).
static void chain(void) {
    for (u32 i = 0; i < LINES; i++)
        lines[i].next = &lines[i];
    for (u32 i = LINES - 1; i > 0; i--) {
        u32 j = xorshift() % i;
        struct line *next = lines[i].next;
        lines[i].next = lines[j].next;
        lines[j].next = next;
    }
}

u64 main(void) {
    u64 sum = 0;
    chain();
    for (u32 round = 0; round < ROUNDS; round++) {
        struct line *line = &lines[round];
        for (u32 i = 0; i < LINES; i++, line = line->next)
            sum += line->words[round & 3];
        for (u32 stride = 1; stride <= 512; stride *= 8)
            for (u32 i = 0; i < WORDS / 8; i++)
                sum ^= copy[(i * stride + round) % WORDS];
        const u64 *from = (const u64 *)lines;
        for (u32 i = 0; i < WORDS / 4; i++)
            copy[i] = from[i] + round;
        for (u32 i = 0; i < LINES; i++)
            copy[xorshift() % WORDS] += i;
    }
    // Addresses are in the sum.
    return sum;
}
