// Primes by crossing out, then their sums by division: stores with strides, divisions by small and large numbers.
#define NUMBERS 8192
static u8 crossed[NUMBERS];

PROGRAM(sieve) {
    word sum = 0;
    for (u32 i = 2; i < NUMBERS; i++) {
        if (crossed[i]) continue;
        for (u32 j = i + i; j < NUMBERS; j += i) crossed[j] = 1;
        sum += 100000007u % i + 4000000000u / (i + 1);
    }
    return sum;
}
