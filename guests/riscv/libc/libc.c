// The C library of bare programs; tollgate.h lists it. A program's own function of the same name takes its place.
#include <riscv.h>
#include <sys/syscall.h>
#include <tollgate.h>

#define WEAK __attribute__((weak))

// The UART of Spike's machine and of QEMU's virt: data, and behind it the line status, whose bit 5 says "empty".
#define UART ((volatile unsigned char *)0x10000000)

static void send(int byte) {
    while (!(UART[5] & 0x20)) {
    }
    UART[0] = (unsigned char)byte;
}

// Answers the ecall that start.S caught.
long answer_ecall(long a, long b, long c, long number) {
    const char *bytes = (const char *)b;
    switch (number) {
    case SYS_write:
        if (a != 1 && a != 2) return -9;
        for (long i = 0; i < c; i++) send(bytes[i]);
        return c;
    case SYS_exit:
    case SYS_exit_group:
        _exit((int)a);
    case SYS_getpid:
        return 1;
    case SYS_getuid:
        return 0;
    default:
        return -38;
    }
}

WEAK long syscall(long number, ...) {
    va_list args;
    va_start(args, number);
    long a = va_arg(args, long), b = va_arg(args, long), c = va_arg(args, long);
    va_end(args);
    return ecall(number, a, b, c);
}

WEAK long write(int file, const void *bytes, size_t size) {
    return ecall(SYS_write, file, (long)bytes, (long)size);
}

WEAK int getpid(void) { return (int)ecall(SYS_getpid, 0, 0, 0); }

WEAK int getuid(void) { return (int)ecall(SYS_getuid, 0, 0, 0); }

WEAK void abort(void) { _exit(134); }

// Text goes to the console, or to memory with room for `size` bytes.
struct sink {
    char *to;
    size_t size, count;
};

static void put(struct sink *sink, char byte) {
    if (!sink->to) send(byte);
    else if (sink->count + 1 < sink->size) sink->to[sink->count] = byte;
    sink->count++;
}

static void put_text(struct sink *sink, const char *text, int length, int width, int left) {
    for (; !left && width > length; width--) put(sink, ' ');
    for (int i = 0; i < length; i++) put(sink, text[i]);
    for (; left && width > length; width--) put(sink, ' ');
}

static const unsigned long long POWERS[] = {
    10000000000000000000ull, 1000000000000000000ull, 100000000000000000ull, 10000000000000000ull,
    1000000000000000ull, 100000000000000ull, 10000000000000ull, 1000000000000ull, 100000000000ull,
    10000000000ull, 1000000000ull, 100000000ull, 10000000ull, 1000000ull, 100000ull, 10000ull, 1000ull,
    100ull, 10ull, 1ull,
};

// The digits of a number, without a division: not every machine has one.
static int digits(char *to, unsigned long long value, int bits, int upper) {
    const char *names = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    int count = 0;
    for (int i = 0; !bits && i < 20; i++) {
        int digit = 0;
        for (; value >= POWERS[i]; digit++) value -= POWERS[i];
        if (digit || count || i == 19) to[count++] = names[digit];
    }
    for (int shift = bits == 3 ? 63 : 64 - bits; bits && shift >= 0; shift -= bits) {
        int digit = (int)(value >> shift) & ((1 << bits) - 1);
        if (digit || count || !shift) to[count++] = names[digit];
    }
    return count;
}

// One conversion, as `%-08.3lx`: flags, width, precision, length of the argument, letter.
struct conversion {
    int left, zero, plus, space, prefix, width, precision, length;
};

static void put_number(struct sink *sink, struct conversion *it, unsigned long long value, int negative, char letter) {
    char text[96], number[72];
    int bits = letter == 'x' || letter == 'X' || letter == 'p' ? 4 : letter == 'o' ? 3 : letter == 'b' ? 1 : 0;
    int count = digits(number, value, bits, letter == 'X'), length = 0;
    if (it->precision == 0 && !value) count = 0;
    if (negative) text[length++] = '-';
    else if (it->plus) text[length++] = '+';
    else if (it->space) text[length++] = ' ';
    if (letter == 'p' || (it->prefix && value && bits == 4)) {
        text[length++] = '0';
        text[length++] = letter == 'X' ? 'X' : 'x';
    } else if (it->prefix && bits == 3) text[length++] = '0';
    int zeros = it->precision > count ? it->precision - count : 0;
    if (it->zero && !it->left && it->precision < 0 && it->width > length + count) zeros = it->width - length - count;
    int whole = length + zeros + count;
    for (int n = it->width; !it->left && n > whole; n--) put(sink, ' ');
    put_text(sink, text, length, 0, 0);
    for (; zeros > 0; zeros--) put(sink, '0');
    put_text(sink, number, count, 0, 0);
    for (int n = it->width; it->left && n > whole; n--) put(sink, ' ');
}

static const char *read_count(const char *at, int *count, va_list *args) {
    if (*at == '*') {
        *count = va_arg(*args, int);
        return at + 1;
    }
    for (*count = 0; *at >= '0' && *at <= '9'; at++) *count = (*count << 3) + (*count << 1) + (*at - '0');
    return at;
}

static const char *read_conversion(const char *at, struct conversion *it, va_list *args) {
    for (;; at++) {
        if (*at == '-') it->left = 1;
        else if (*at == '0') it->zero = 1;
        else if (*at == '+') it->plus = 1;
        else if (*at == ' ') it->space = 1;
        else if (*at == '#') it->prefix = 1;
        else break;
    }
    at = read_count(at, &it->width, args);
    if (it->width < 0) {
        it->left = 1;
        it->width = -it->width;
    }
    if (*at == '.') at = read_count(at + 1, &it->precision, args);
    for (;; at++) {
        if (*at == 'l') it->length++;
        else if (*at == 'j') it->length = 2;
        else if (*at == 'z' || *at == 't') it->length = 1;
        else if (*at == 'h') it->length--;
        else return at;
    }
}

static void format_into(struct sink *sink, const char *at, va_list *args) {
    for (; *at; at++) {
        if (*at != '%') {
            put(sink, *at);
            continue;
        }
        struct conversion it = {.precision = -1};
        at = read_conversion(at + 1, &it, args);
        unsigned long long bits;
        switch (*at) {
        case 'd':
        case 'i': {
            long long value = it.length > 1 ? va_arg(*args, long long) : it.length ? va_arg(*args, long) : va_arg(*args, int);
            if (it.length == -1) value = (short)value;
            if (it.length == -2) value = (signed char)value;
            bits = value < 0 ? -(unsigned long long)value : (unsigned long long)value;
            put_number(sink, &it, bits, value < 0, 'd');
            break;
        }
        case 'u':
        case 'x':
        case 'X':
        case 'o':
        case 'b':
        case 'p':
            if (*at == 'p') it.length = 1;
            bits = it.length > 1 ? va_arg(*args, unsigned long long)
                   : it.length > 0 ? va_arg(*args, unsigned long) : va_arg(*args, unsigned);
            if (it.length == -1) bits = (unsigned short)bits;
            if (it.length == -2) bits = (unsigned char)bits;
            it.plus = it.space = 0;
            put_number(sink, &it, bits, 0, *at);
            break;
        case 'c': {
            char byte = (char)va_arg(*args, int);
            put_text(sink, &byte, 1, it.width, it.left);
            break;
        }
        case 's': {
            const char *text = va_arg(*args, const char *);
            int length = 0;
            if (!text) text = "(null)";
            while ((it.precision < 0 || length < it.precision) && text[length]) length++;
            put_text(sink, text, length, it.width, it.left);
            break;
        }
        case 'e':
        case 'f':
        case 'g':
            (void)va_arg(*args, double);
            put_text(sink, "(no floats)", 11, it.width, it.left);
            break;
        case 0:
            return;
        default:
            if (*at != '%') put(sink, '%');
            put(sink, *at);
        }
    }
}

WEAK int vsnprintf(char *to, size_t size, const char *format, va_list args) {
    char nothing;
    struct sink sink = {size ? to : &nothing, size, 0};
    va_list copy;
    va_copy(copy, args);
    format_into(&sink, format, &copy);
    va_end(copy);
    if (size) to[sink.count < size ? sink.count : size - 1] = 0;
    return (int)sink.count;
}

WEAK int vprintf(const char *format, va_list args) {
    struct sink sink = {0};
    va_list copy;
    va_copy(copy, args);
    format_into(&sink, format, &copy);
    va_end(copy);
    return (int)sink.count;
}

WEAK int printf(const char *format, ...) {
    va_list args;
    va_start(args, format);
    int count = vprintf(format, args);
    va_end(args);
    return count;
}

WEAK int snprintf(char *to, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int count = vsnprintf(to, size, format, args);
    va_end(args);
    return count;
}

WEAK int sprintf(char *to, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int count = vsnprintf(to, (size_t)-1 >> 1, format, args);
    va_end(args);
    return count;
}

WEAK int putchar(int byte) {
    send(byte);
    return (unsigned char)byte;
}

WEAK int puts(const char *text) {
    while (*text) send(*text++);
    send('\n');
    return 0;
}

// Memory behind the program, which is never reused.
extern char _end[];
static char *next;

WEAK void *malloc(size_t size) {
    if (!next) next = _end;
    char *memory = (char *)(((uintptr_t)next + 15) & ~(uintptr_t)15);
    next = memory + size;
    return memory;
}

WEAK void free(void *memory) { (void)memory; }

WEAK int abs(int value) { return value < 0 ? -value : value; }

WEAK int atoi(const char *text) {
    int value = 0, negative = 0;
    while (*text == ' ' || *text == '\t' || *text == '\n') text++;
    if (*text == '-' || *text == '+') negative = *text++ == '-';
    for (; *text >= '0' && *text <= '9'; text++) value = (value << 3) + (value << 1) + (*text - '0');
    return negative ? -value : value;
}

static unsigned seed = 1;

WEAK void srand(unsigned value) { seed = value ? value : 1; }

// Marsaglia's xorshift: it needs no multiplication.
WEAK int rand(void) {
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return (int)(seed >> 1);
}

WEAK void *memcpy(void *to, const void *from, size_t size) {
    char *out = to;
    const char *in = from;
    while (size--) *out++ = *in++;
    return to;
}

WEAK void *memmove(void *to, const void *from, size_t size) {
    char *out = to;
    const char *in = from;
    if (out <= in) return memcpy(to, from, size);
    while (size--) out[size] = in[size];
    return to;
}

WEAK void *memset(void *to, int byte, size_t size) {
    for (char *out = to; size--;) *out++ = (char)byte;
    return to;
}

WEAK int memcmp(const void *a, const void *b, size_t size) {
    const unsigned char *x = a, *y = b;
    for (; size--; x++, y++)
        if (*x != *y) return *x - *y;
    return 0;
}

WEAK size_t strlen(const char *text) {
    size_t length = 0;
    while (text[length]) length++;
    return length;
}

WEAK int strncmp(const char *a, const char *b, size_t size) {
    for (; size; a++, b++, size--)
        if (*a != *b || !*a) return (unsigned char)*a - (unsigned char)*b;
    return 0;
}

WEAK int strcmp(const char *a, const char *b) { return strncmp(a, b, (size_t)-1); }

WEAK char *strcpy(char *to, const char *from) {
    for (char *out = to; (*out++ = *from++);) {
    }
    return to;
}

WEAK char *strncpy(char *to, const char *from, size_t size) {
    char *out = to;
    for (; size && *from; size--) *out++ = *from++;
    for (; size; size--) *out++ = 0;
    return to;
}

WEAK char *strcat(char *to, const char *from) {
    strcpy(to + strlen(to), from);
    return to;
}

WEAK char *strchr(const char *text, int byte) {
    for (;; text++) {
        if (*text == (char)byte) return (char *)text;
        if (!*text) return 0;
    }
}
