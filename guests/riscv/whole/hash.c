// A hash table with chains in arrays: multiplications, dependent loads, a table larger than small caches.
#define BUCKETS 1024
#define ENTRIES 1500
static u16 heads[BUCKETS], nexts[ENTRIES + 1];
static u32 keys[ENTRIES + 1], values[ENTRIES + 1];

static u32 bucket(u32 key) { return (key * 2654435769u) >> 22; }

static u32 find(u32 key) {
    for (u32 at = heads[bucket(key)]; at; at = nexts[at])
        if (keys[at] == key) return at;
    return 0;
}

PROGRAM(hash) {
    word sum = 0;
    for (u32 i = 1; i <= ENTRIES; i++) {
        u32 key = random() & 0xfff;
        u32 at = find(key);
        if (!at) {
            u32 to = bucket(key);
            nexts[i] = heads[to];
            heads[to] = i;
            keys[i] = key;
            at = i;
        }
        values[at] += i;
    }
    for (u32 i = 0; i < 4 * ENTRIES; i++) {
        u32 at = find(random() & 0xfff);
        if (at) sum += values[at];
    }
    return sum;
}
