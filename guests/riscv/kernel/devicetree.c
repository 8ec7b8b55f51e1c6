// A minimal reader of flattened device trees (Devicetree specification, chapter 5): walks the structure block and finds
// properties by name, in any node.
#include "kernel.h"

enum { MAGIC = 0xd00dfeed, BEGIN_NODE = 1, END_NODE = 2, PROP = 3, NOP = 4 };

static u32 big_endian(const u8 *p) { return (u32)p[0] << 24 | (u32)p[1] << 16 | (u32)p[2] << 8 | p[3]; }

static int equal(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

static u64 length(const char *s) {
    u64 n = 0;
    while (s[n]) n++;
    return n;
}

// The next property called `name` after `*at`, or null. `*at` is the position of the search and starts at 0.
static const u8 *next_property(const u8 *tree, const char *name, u64 *at, u32 *size) {
    if (!tree || big_endian(tree) != MAGIC) return 0;
    u64 structure = big_endian(tree + 8), strings = big_endian(tree + 12), total = big_endian(tree + 4);
    if (!*at) *at = structure;
    while (*at + 12 <= total) {
        u32 token = big_endian(tree + *at);
        if (token == BEGIN_NODE) {
            *at += 4 + ((length((const char *)tree + *at + 4) + 4) & ~3UL);
        } else if (token == PROP) {
            const u8 *value = tree + *at + 12;
            *size = big_endian(tree + *at + 4);
            const char *own = (const char *)tree + strings + big_endian(tree + *at + 8);
            *at += 12 + (((u64)*size + 3) & ~3UL);
            if (equal(own, name)) return value;
        } else if (token == END_NODE || token == NOP) {
            *at += 4;
        } else {
            return 0;
        }
    }
    return 0;
}

int devicetree_has(const void *tree, const char *compatible) {
    u64 at = 0;
    u32 size;
    const u8 *value;
    while ((value = next_property(tree, "compatible", &at, &size)))
        // The value is a list of zero-terminated strings.
        for (u64 i = 0; i < size; i += length((const char *)value + i) + 1)
            if (equal((const char *)value + i, compatible)) return 1;
    return 0;
}

u64 devicetree_u32(const void *tree, const char *property, u64 otherwise) {
    u64 at = 0;
    u32 size;
    const u8 *value = next_property(tree, property, &at, &size);
    return value && size == 4 ? big_endian(value) : otherwise;
}
