// A list whose elements are in a random order, each in a line of its own: 32 KiB.
#define LINKS 512
static struct link {
    struct link *next;
    u32 weight;
    u8 rest[64 - sizeof(struct link *) - 4];
} links[LINKS] __attribute__((aligned(64)));

PROGRAM(chase) {
    static u16 order[LINKS];
    for (u32 i = 0; i < LINKS; i++) order[i] = i;
    for (u32 i = LINKS - 1; i > 0; i--) {
        u32 j = random() % (i + 1);
        u16 swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
    for (u32 i = 0; i < LINKS; i++) {
        links[order[i]].next = &links[order[(i + 1) % LINKS]];
        links[order[i]].weight = i;
    }
    word sum = 0;
    const struct link *at = links;
    for (u32 i = 0; i < 10 * LINKS; i++) {
        sum += at->weight;
        at = at->next;
    }
    return sum;
}
