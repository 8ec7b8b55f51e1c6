// A filter, and bodies that attract each other: double precision where there is floating point, otherwise 16 bits behind the point.
#if __riscv_xlen == 64
typedef double real;
#define REAL(x) (x)
#define TIMES(a, b) ((a) * (b))
#define FROM(i) ((double)(i))
#else
typedef int real;
#define REAL(x) ((int)((x) * 65536))
#define TIMES(a, b) ((int)(((long long)(a) * (b)) >> 16))
#define FROM(i) ((int)(i) << 16)
#endif
#define TAPS 16
#define SAMPLES 256
#define BODIES 6

static real taps[TAPS], samples[SAMPLES + TAPS], filtered[SAMPLES];
static struct body {
    real place[3], speed[3];
} bodies[BODIES];

PROGRAM(numbers) {
    for (u32 i = 0; i < TAPS; i++) taps[i] = TIMES(FROM(i + 1), REAL(0.0073));
    for (u32 i = 0; i < SAMPLES + TAPS; i++) samples[i] = FROM(random() & 63) - REAL(32.0);
    for (u32 i = 0; i < SAMPLES; i++) {
        real sum = REAL(0.0);
        for (u32 j = 0; j < TAPS; j++) sum += TIMES(samples[i + j], taps[j]);
        filtered[i] = sum;
    }
    for (u32 i = 0; i < BODIES; i++)
        for (u32 axis = 0; axis < 3; axis++) bodies[i].place[axis] = TIMES(FROM(random() & 15), REAL(0.25));
    for (u32 step = 0; step < 40; step++) {
        for (u32 i = 0; i < BODIES; i++)
            for (u32 j = 0; j < BODIES; j++) {
                // Springs instead of gravity: without a division.
                real pull = REAL(0.001);
                for (u32 axis = 0; axis < 3; axis++) {
                    real apart = bodies[j].place[axis] - bodies[i].place[axis];
                    bodies[i].speed[axis] += TIMES(apart, pull);
                }
            }
        for (u32 i = 0; i < BODIES; i++)
            for (u32 axis = 0; axis < 3; axis++) bodies[i].place[axis] += TIMES(bodies[i].speed[axis], REAL(0.01));
    }
    return (word)(int)(filtered[7] + bodies[2].place[1]);
}
