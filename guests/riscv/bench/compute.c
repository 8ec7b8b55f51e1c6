// What small embedded programs compute: a list that is searched, reversed and sorted, a product of matrices, a state machine
// over text, and checksums of all of it.
typedef unsigned long word;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;

enum { ITEMS = 400, SIZE = 24, TEXT = 2000 };

struct item {
    struct item *next;
    u16 key, value;
};

static struct item items[ITEMS];
static u16 left[SIZE][SIZE], right[SIZE][SIZE];
static u32 product[SIZE][SIZE];
static u8 text[TEXT + 1];

static u16 checksum(u16 sum, u32 word) {
    for (u32 bit = 0; bit < 16; bit++, word >>= 1)
        sum = (sum ^ word) & 1 ? sum >> 1 ^ 0xa001 : sum >> 1;
    return sum;
}

static struct item *find(struct item *list, u16 key) {
    while (list && list->key != key)
        list = list->next;
    return list;
}

static struct item *reversed(struct item *list) {
    struct item *done = 0;
    while (list) {
        struct item *next = list->next;
        list->next = done;
        done = list;
        list = next;
    }
    return done;
}

static int by_key(const struct item *a, const struct item *b) {
    return a->key - b->key;
}

static int by_value(const struct item *a, const struct item *b) {
    return a->value - b->value;
}

// Merges runs of one item, of two, of four.
static struct item *sorted(struct item *list, int (*order)(const struct item *, const struct item *)) {
    for (u32 size = 1;; size *= 2) {
        struct item *one = list, *head = 0, **tail = &head;
        u32 merges = 0;
        while (one) {
            struct item *other = one;
            u32 ones = 0, others = size;
            merges++;
            for (; ones < size && other; ones++)
                other = other->next;
            while (ones || (others && other)) {
                struct item **from =
                    !ones ? &other : !others || !other ? &one : order(one, other) <= 0 ? &one : &other;
                from == &one ? ones-- : others--;
                *tail = *from;
                tail = &(*from)->next;
                *from = *tail;
            }
            one = other;
        }
        *tail = 0;
        list = head;
        if (merges <= 1)
            return list;
    }
}

static u16 lists(u32 round, u16 sum) {
    for (u32 i = 0; i < ITEMS; i++) {
        items[i].next = i + 1 < ITEMS ? &items[i + 1] : 0;
        items[i].key = (i * 7919 + round) % 1009;
        items[i].value = i ^ round;
    }
    struct item *list = items;
    for (u32 i = 0; i < 40; i++) {
        struct item *found = find(list, (i * 31 + round) % 1009);
        sum = checksum(sum, found ? found->value : i);
        if (i % 4 == 0)
            list = reversed(list);
    }
    list = sorted(list, by_key);
    sum = checksum(sum, list->value);
    list = sorted(list, by_value);
    for (u32 i = 0; i < 8; i++, list = list->next)
        sum = checksum(sum, list->key);
    return sum;
}

static u16 matrices(u32 round, u16 sum) {
    for (u32 i = 0; i < SIZE; i++)
        for (u32 j = 0; j < SIZE; j++) {
            left[i][j] = i * j + round;
            right[i][j] = i - j + sum;
        }
    for (u32 i = 0; i < SIZE; i++)
        for (u32 j = 0; j < SIZE; j++) {
            u32 cell = 0;
            for (u32 k = 0; k < SIZE; k++)
                cell += (u32)left[i][k] * right[k][j];
            product[i][j] = cell;
        }
    for (u32 i = 0; i < SIZE; i++)
        sum = checksum(sum, product[i][SIZE - 1 - i] >> 3);
    return sum;
}

enum state { START, SIGN, WHOLE, POINT, PART, EXPONENT, EXPONENT_SIGN, POWER, WRONG, STATES };

static enum state next(enum state state, u8 c) {
    int digit = c >= '0' && c <= '9';
    switch (state) {
    case START: return digit ? WHOLE : c == '+' || c == '-' ? SIGN : c == '.' ? POINT : WRONG;
    case SIGN: return digit ? WHOLE : c == '.' ? POINT : WRONG;
    case WHOLE: return digit ? WHOLE : c == '.' ? POINT : c == 'e' ? EXPONENT : WRONG;
    case POINT:
    case PART: return digit ? PART : c == 'e' ? EXPONENT : WRONG;
    case EXPONENT: return digit ? POWER : c == '+' || c == '-' ? EXPONENT_SIGN : WRONG;
    case EXPONENT_SIGN:
    case POWER: return digit ? POWER : WRONG;
    default: return WRONG;
    }
}

static u16 states(u32 round, u16 sum) {
    static const char words[] = "5012,-0.25,1e9,+7.5e-3,12x,.5,3.14159,e4,";
    u32 counts[STATES] = {0};
    for (u32 i = 0; i < TEXT; i++)
        text[i] = words[(i + round) % (sizeof words - 1)];
    text[round % TEXT] ^= 1;
    enum state state = START;
    for (const u8 *c = text; *c; c++) {
        state = *c == ',' ? START : next(state, *c);
        counts[state]++;
    }
    for (u32 i = 0; i < STATES; i++)
        sum = checksum(sum, counts[i]);
    return sum;
}

word main(void) {
    u16 sum = 0xffff;
    for (u32 round = 0; round < ROUNDS; round++) {
        sum = lists(round, sum);
        sum = matrices(round, sum);
        sum = states(round, sum);
    }
    return sum;
}
