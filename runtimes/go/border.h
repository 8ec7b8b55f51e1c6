#include <stddef.h>
#include <stdint.h>

// What C counted: calls that entered it, and results that Go returned rightly.
extern uint64_t entered, right;

void down(void);
int64_t down_eight(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h);
// Returns the length of a text that ends with an x.
size_t down_text(const char *text, size_t length);
// Calls Go and returns.
void back(void);

// Each calls Go so many times.
void up(uint64_t calls);
void up_eight(uint64_t calls);
void up_text(uint64_t calls, const char *text, size_t length);
