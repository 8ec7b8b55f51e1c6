// Sieve, hash table, sort and recursion: about 1.6 billion instructions, and a checksum.
typedef unsigned long u64;
typedef unsigned int u32;
typedef unsigned char u8;

static u8 composite[1 << 20];
static u64 table[1 << 15];
static u32 numbers[1 << 16];
static u64 seed = 88172645463325252ul;

static u64 xorshift(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static u64 sieve(void) {
    const u32 n = sizeof composite;
    u64 primes = 0;
    for (u32 i = 0; i < n; i++)
        composite[i] = 0;
    for (u32 i = 2; i < n; i++) {
        if (composite[i])
            continue;
        primes++;
        for (u32 j = 2 * i; j < n; j += i)
            composite[j] = 1;
    }
    return primes;
}

// Open addressing with linear probing, half full.
static u64 hash(void) {
    const u64 mask = (1 << 15) - 1;
    u64 found = 0;
    for (u64 i = 0; i <= mask; i++)
        table[i] = 0;
    for (u32 i = 0; i < 1 << 14; i++) {
        u64 key = xorshift() | 1;
        u64 at = key * 0x9e3779b97f4a7c15ul >> 49;
        while (table[at] && table[at] != key)
            at = (at + 1) & mask;
        table[at] = key;
    }
    for (u32 i = 0; i < 1 << 17; i++) {
        u64 key = i * 2654435761ul | 1;
        u64 at = key * 0x9e3779b97f4a7c15ul >> 49;
        while (table[at] && table[at] != key)
            at = (at + 1) & mask;
        found += table[at] == key ? at : 1;
    }
    return found;
}

static void quicksort(u32 *a, long low, long high) {
    while (low < high) {
        u32 pivot = a[(low + high) / 2];
        long i = low, j = high;
        while (i <= j) {
            while (a[i] < pivot)
                i++;
            while (a[j] > pivot)
                j--;
            if (i <= j) {
                u32 t = a[i];
                a[i++] = a[j];
                a[j--] = t;
            }
        }
        quicksort(a, low, j);
        low = i;
    }
}

static u64 sort(void) {
    const u32 n = sizeof numbers / sizeof *numbers;
    for (u32 i = 0; i < n; i++)
        numbers[i] = xorshift();
    quicksort(numbers, 0, n - 1);
    return numbers[n / 3];
}

__attribute__((noinline)) static u64 ackermann(u64 m, u64 n) {
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

__attribute__((noinline, optimize("no-optimize-sibling-calls"))) static u64 fibonacci(u64 n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

u64 main(void) {
    u64 sum = 0;
    for (u32 round = 0; round < ROUNDS; round++) {
        sum = sum * 31 + sieve();
        for (u32 i = 0; i < 4; i++)
            sum = sum * 31 + hash();
        sum = sum * 31 + sort();
        sum = sum * 31 + fibonacci(27) + ackermann(2, 300);
    }
    return sum;
}
