// Sorting: quicksort, and insertion for the short rest. Branches without a pattern, recursion, neighbors in memory.
#define SORTED 3000
static u32 sortable[SORTED];

static void quicksort(u32 *from, u32 *to) {
    while (to - from > 8) {
        u32 pivot = from[(to - from) / 2], *left = from, *right = to - 1;
        while (left <= right) {
            while (*left < pivot) left++;
            while (*right > pivot) right--;
            if (left > right) break;
            u32 swapped = *left;
            *left++ = *right;
            *right-- = swapped;
        }
        quicksort(from, right + 1);
        from = left;
    }
}

PROGRAM(sort) {
    for (u32 i = 0; i < SORTED; i++) sortable[i] = random();
    quicksort(sortable, sortable + SORTED);
    for (u32 i = 1; i < SORTED; i++) {
        u32 moved = sortable[i], j = i;
        for (; j > 0 && sortable[j - 1] > moved; j--) sortable[j] = sortable[j - 1];
        sortable[j] = moved;
    }
    return sortable[0] ^ sortable[SORTED / 2];
}
