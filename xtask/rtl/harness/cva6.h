// Verilator 5.006 writes behind the end of constants that are set from above (VL_CONSTHI_W_1X); this one does not.
#pragma once
#include <verilated.h>

static inline WDataOutP high_word(int bits, int lowest, WDataOutP words, EData word) {
    for (int i = VL_WORDS_I(lowest); i < VL_WORDS_I(bits); i++) words[i] = 0;
    words[VL_WORDS_I(lowest)] = word;
    return words;
}
#define VL_CONSTHI_W_1X high_word
