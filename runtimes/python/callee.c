// What Python calls through ctypes and cffi, and what calls Python through them.

#include <stddef.h>
#include <stdint.h>

// Calls that came with the right arguments, and texts at another address than that of the caller's.
uint64_t entered, copied;
const char *handed;

void down(void) { entered++; }

int64_t down_eight(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h) {
    int64_t sum = a + b + c + d + e + f + g + h;
    entered += sum == 36;
    return sum;
}

size_t down_text(const char *text, size_t length) {
    entered += length == 100 && text[length - 1] == 'x';
    copied += text != handed;
    return length;
}

void back(void (*callee)(void)) {
    entered++;
    callee();
}

void up(uint64_t calls, void (*callee)(void)) {
    for (uint64_t call = 0; call < calls; call++) callee();
}

void up_eight(uint64_t calls, int64_t (*callee)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t)) {
    for (uint64_t call = 0; call < calls; call++) callee(1, 2, 3, 4, 5, 6, 7, 8);
}

void up_text(uint64_t calls, void (*callee)(const char *), const char *text) {
    for (uint64_t call = 0; call < calls; call++) callee(text);
}
