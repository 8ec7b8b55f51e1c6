// Floating point: matrix product, an n-body step and a Newton iteration, in double and single precision.
typedef unsigned long u64;

static double a[64][64], b[64][64], c[64][64];
static float x[256], y[256], vx[256], vy[256];

static double product(void) {
    for (int i = 0; i < 64; i++)
        for (int j = 0; j < 64; j++) {
            double sum = 0;
            for (int k = 0; k < 64; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
    return c[13][17];
}

static float bodies(void) {
    for (int i = 0; i < 256; i++)
        for (int j = 0; j < 256; j++) {
            float dx = x[j] - x[i], dy = y[j] - y[i];
            float d = dx * dx + dy * dy + 0.01f;
            float f = 0.001f / (d * __builtin_sqrtf(d));
            vx[i] += dx * f;
            vy[i] += dy * f;
        }
    for (int i = 0; i < 256; i++) {
        x[i] += vx[i];
        y[i] += vy[i];
    }
    return x[7];
}

static double newton(double v) {
    double r = v;
    for (int i = 0; i < 40; i++)
        r = 0.5 * (r + v / r);
    return r;
}

u64 main(void) {
    for (int i = 0; i < 64; i++)
        for (int j = 0; j < 64; j++) {
            a[i][j] = (i * 7 + j) % 13 * 0.37;
            b[i][j] = (i + j * 5) % 11 * 0.73;
        }
    for (int i = 0; i < 256; i++) {
        x[i] = i * 37 % 101 * 0.1f;
        y[i] = i * 53 % 97 * 0.1f;
    }
    double sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        sum += product() + bodies();
        for (int i = 1; i < 1000; i++)
            sum += newton(i * 1.1);
    }
    union { double d; u64 bits; } u = { .d = sum };
    return u.bits >> 20;
}
