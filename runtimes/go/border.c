//go:build ffi

#include "border.h"
#include "_cgo_export.h"

uint64_t entered, right;

void down(void) { entered++; }

int64_t down_eight(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h) {
    entered++;
    return a + b + c + d + e + f + g + h;
}

size_t down_text(const char *text, size_t length) {
    entered++;
    return text[length - 1] == 'x' ? length : 0;
}

void back(void) {
    entered++;
    goBack();
}

void up(uint64_t calls) {
    for (uint64_t call = 0; call < calls; call++) {
        goUp();
        right++;
    }
}

void up_eight(uint64_t calls) {
    for (uint64_t call = 0; call < calls; call++) right += goUpEight(1, 2, 3, 4, 5, 6, 7, 8) == 36;
}

void up_text(uint64_t calls, const char *text, size_t length) {
    for (uint64_t call = 0; call < calls; call++) right += goUpText((char *)text, length) == length;
}
