// image: icache-rv32im-O1 alone -march=rv32im -O1
// image: icache-rv32imc-O1 alone -march=rv32imc -O1
// image: icache-rv32im-O2 alone -march=rv32im -O2
// image: icache-rv32imc-O2 alone -march=rv32imc -O2
// What the C extension does for the instruction cache: a loop of 14 instructions, 56 bytes without it, goes around
// 1,024 times in each of ten calls. There is no start-up code, so execution begins at the first function of .text:
// with -O1 that is `mix`, which has no caller and runs once; with -O2 main comes first.
__attribute__((noinline)) unsigned mix(unsigned x) {
    unsigned y = 1;
    for (unsigned i = 0; i < 1024; i++) {
        x += y;
        y ^= x << 5;
        y += i;
        x ^= y >> 3;
        x += i;
        y -= x;
        x ^= y << 7;
        x ^= i;
        y += x;
    }
    return x;
}

int main(void) {
    unsigned total = 0;
    for (unsigned i = 0; i < 10; i++)
        total += mix(i);
    volatile unsigned result __attribute__((unused)) = total;
    return 0;
}
