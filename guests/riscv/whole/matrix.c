// The product of two matrices, three times: multiplications and additions, rows and columns.
#define SIDE 32
static int left[SIDE][SIDE], right[SIDE][SIDE], product[SIDE][SIDE];

PROGRAM(matrix) {
    for (u32 i = 0; i < SIDE; i++)
        for (u32 j = 0; j < SIDE; j++) left[i][j] = random() & 255, right[i][j] = random() & 255;
    for (u32 again = 0; again < 3; again++) {
        for (u32 i = 0; i < SIDE; i++)
            for (u32 j = 0; j < SIDE; j++) {
                int sum = 0;
                for (u32 k = 0; k < SIDE; k++) sum += left[i][k] * right[k][j];
                product[i][j] = sum;
            }
        left[again][again] = product[SIDE - 1][again];
    }
    return product[3][5];
}
