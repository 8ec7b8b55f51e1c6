// Queens on a board, by recursion: calls, returns, saved registers.
static u32 place(u32 side, u32 row, u32 columns, u32 falling, u32 rising) {
    if (row == side) return 1;
    u32 found = 0;
    for (u32 column = 0; column < side; column++) {
        u32 bit = 1u << column, fall = 1u << (row + column), rise = 1u << (row + side - column);
        if ((columns & bit) || (falling & fall) || (rising & rise)) continue;
        found += place(side, row + 1, columns | bit, falling | fall, rising | rise);
    }
    return found;
}

PROGRAM(queens) { return place(7, 0, 0, 0, 0); }
