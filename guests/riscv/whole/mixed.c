// What embedded benchmarks mix: a list that is reversed and searched, a state machine over text, a checksum of all results.
#define ITEMS 64
static struct item {
    struct item *next;
    u16 key, value;
} items[ITEMS];

static u16 checksum(u16 sum, u32 data) {
    for (u32 i = 0; i < 16; i++) {
        u32 out = (sum ^ data) & 1;
        sum >>= 1;
        data >>= 1;
        if (out) sum ^= 0xa001;
    }
    return sum;
}

static struct item *reverse(struct item *list) {
    struct item *done = 0;
    while (list) {
        struct item *next = list->next;
        list->next = done;
        done = list;
        list = next;
    }
    return done;
}

enum state { START, SIGN, INTEGER, FRACTION, EXPONENT, WRONG, STATES };

// Which kinds of numbers a text has.
static void count(const char *at, u32 *counts) {
    enum state state = START;
    for (;; at++) {
        char c = *at;
        u32 digit = c >= '0' && c <= '9';
        if (c == ',' || !c) {
            counts[state]++;
            state = START;
            if (!c) return;
            continue;
        }
        switch (state) {
        case START: state = digit ? INTEGER : c == '+' || c == '-' ? SIGN : c == '.' ? FRACTION : WRONG; break;
        case SIGN: state = digit ? INTEGER : c == '.' ? FRACTION : WRONG; break;
        case INTEGER: state = digit ? INTEGER : c == '.' ? FRACTION : c == 'e' ? EXPONENT : WRONG; break;
        case FRACTION: state = digit ? FRACTION : c == 'e' ? EXPONENT : WRONG; break;
        case EXPONENT: state = digit || c == '-' ? EXPONENT : WRONG; break;
        default: break;
        }
    }
}

PROGRAM(mixed) {
    static const char lines[] = "5012,1234,-874,+122,35.54400,.1234500,-110.700,+0.64400,5.500e3,-.123e-2,-87e832,"
                                "T0.3e-1F,-T.T++Tq,1T3.4e4z,34.0e-T^";
    u16 sum = 0;
    for (u32 i = 0; i < ITEMS; i++) {
        items[i].next = i + 1 < ITEMS ? &items[i + 1] : 0;
        items[i].key = random();
        items[i].value = i;
    }
    struct item *list = items;
    for (u32 round = 0; round < 12; round++) {
        u32 counts[STATES] = {0};
        list = reverse(list);
        for (u32 wanted = 0; wanted < ITEMS; wanted += 5) {
            const struct item *at = list;
            while (at && at->value != wanted) at = at->next;
            if (at) sum = checksum(sum, at->key);
        }
        count(lines, counts);
        for (u32 i = 0; i < STATES; i++) sum = checksum(sum, counts[i]);
    }
    return sum;
}
