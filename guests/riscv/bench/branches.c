// Branches that depend on random numbers: an interpreter of random operations, and comparisons.
typedef unsigned long long u64;
typedef unsigned int u32;

static u64 seed = 88172645463325252ull;
static u64 stack[16];

static u64 xorshift(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

__attribute__((noinline)) static u64 called(u64 x) {
    return x & 4 ? x * 5 : x + 3;
}

u64 main(void) {
    u64 sum = 0;
    u32 top = 0;
    for (u32 round = 0; round < ROUNDS; round++) {
        u64 random = xorshift();
        for (u32 i = 0; i < 8; i++, random >>= 8) {
            switch (random & 15) {
            case 0: sum += random; break;
            case 1: sum ^= random >> 3; break;
            case 2: sum = sum << 7 | sum >> 57; break;
            case 3: stack[top++ & 15] = sum; break;
            case 4: sum += stack[--top & 15]; break;
            case 5: sum = called(sum); break;
            case 6: if (sum & 1) sum += 17; break;
            case 7: if (sum & 2) sum ^= 99; else sum -= 5; break;
            case 8: for (u64 n = random >> 4 & 7; n; n--) sum += n; break;
            case 9: sum *= 3; break;
            case 10: if ((sum & 7) < (random >> 4 & 7)) sum += called(random); break;
            case 11: sum -= stack[random >> 4 & 15]; break;
            case 12: sum ^= sum >> 9; break;
            case 13: if (random & 16) { if (random & 32) sum++; else sum--; } break;
            case 14: stack[random >> 4 & 15] ^= sum; break;
            default: sum = called(sum ^ random); break;
            }
        }
    }
    return sum;
}
