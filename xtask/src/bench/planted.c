// Changes of a program, for `cargo xtask bench exec-exact-changes` (exact.rs): does the sign that `tollgate riscv exec --against` finds
// agree with the host's processor time? A line `change NAME TURNS` begins each; it is compiled with -DCHANGE_NAME and
// with -DAFTER=0 or 1.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char record[1 << 16], other[1 << 16];
static volatile long sum;

static int opened(const char *path, int flags) {
    int file = open(path, flags);
    if (file < 0) exit(2);
    return file;
}

// change copies 40000: each record is copied twice
#ifdef CHANGE_copies
static void turn(long i) {
    record[i & 4095] = i;
    memcpy(other, record, 4096);
    for (int at = 0; at < 4096; at += 256) sum += other[at];
    if (AFTER) memcpy(other + 4096, other, 4096), sum += other[4096 + (i & 4095)];
}
#endif

// change allocator 200000: malloc and free instead of an arena
#ifdef CHANGE_allocator
static void turn(long i) {
    static size_t used;
    char *items[8];
    for (int n = 0; n < 8; n++) {
        size_t bytes = 24 + 8 * ((i + n) & 15);
        if (AFTER) items[n] = malloc(bytes);
        else items[n] = record + (used = (used + bytes) & 0x7fff);
        items[n][0] = n;
    }
    for (int n = 0; n < 8; n++) {
        sum += items[n][0];
        if (AFTER) free(items[n]);
    }
}
#endif

// change unbuffered 50000: lines are written without a buffer
#ifdef CHANGE_unbuffered
static void turn(long i) {
    static FILE *file;
    if (!file) {
        file = fopen("/dev/null", "w");
        if (AFTER) setvbuf(file, 0, _IONBF, 0);
    }
    fprintf(file, "line %ld\n", i);
}
#endif

// change smaller_reads 500: 512 bytes a call instead of 64 KiB
#ifdef CHANGE_smaller_reads
static void turn(long i) {
    static int file = -1;
    if (file < 0) file = opened("/dev/zero", O_RDONLY);
    size_t piece = AFTER ? 512 : sizeof record;
    for (size_t done = 0; done < sizeof record; done += piece) sum += read(file, record + done, piece);
    sum += record[i & 0xffff];
}
#endif

// change larger_reads 500: 64 KiB a call instead of 1 KiB
#ifdef CHANGE_larger_reads
static void turn(long i) {
    static int file = -1;
    if (file < 0) file = opened("/dev/zero", O_RDONLY);
    size_t piece = AFTER ? sizeof record : 1024;
    for (size_t done = 0; done < sizeof record; done += piece) sum += read(file, record + done, piece);
    sum += record[i & 0xffff];
}
#endif

// change more_calls 40000: each turn asks for its parent
#ifdef CHANGE_more_calls
static void turn(long i) {
    for (int n = 0; n < 100; n++) sum += i ^ n;
    if (AFTER) sum += getppid();
}
#endif

// change stack 1: 6 MiB of stack are touched instead of 64 KiB
#ifdef CHANGE_stack
static void turn(long i) {
    size_t bytes = AFTER ? 6 << 20 : 64 << 10;
    volatile char *area = __builtin_alloca(bytes);
    for (size_t at = 0; at < bytes; at += 4096) area[bytes - 1 - at] = i;
    sum += area[100];
}
#endif

// change mapping 1500: a mapping for each buffer instead of one that is kept
#ifdef CHANGE_mapping
static void turn(long i) {
    char *area = record;
    if (AFTER) area = mmap(0, sizeof record, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t at = 0; at < sizeof record; at += 4096) area[at] = i;
    sum += area[4096];
    if (AFTER) munmap(area, sizeof record);
}
#endif

// change linear 100000: a linear search instead of a binary one
#ifdef CHANGE_linear
static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void turn(long i) {
    static int keys[256];
    int key = 3 * (i & 255);
    for (int n = 0; i == 0 && n < 256; n++) keys[n] = 3 * n;
    int at = 0;
    if (AFTER) while (keys[at] != key) at++;
    else at = (int *)bsearch(&key, keys, 256, sizeof(int), order) - keys;
    sum += at;
}
#endif

// change processes 60: one more process each turn
#ifdef CHANGE_processes
static void turn(long i) {
    for (int n = 0; n < 1 + AFTER; n++) {
        int child = fork();
        if (child == 0) _exit(i & 1);
        waitpid(child, 0, 0);
    }
}
#endif

// change flush 40000: each line is flushed
#ifdef CHANGE_flush
static void turn(long i) {
    static FILE *file;
    if (!file) file = fopen("/dev/null", "w");
    fprintf(file, "line %ld\n", i);
    if (AFTER) fflush(file);
}
#endif

// change length 2000: the length of a text is found anew for each of its characters
#ifdef CHANGE_length
static void turn(long i) {
    static char text[400];
    memset(text, 'a' + i % 26, sizeof text - 1);
    size_t known = strlen(text);
    for (size_t at = 0; at < (AFTER ? strlen(text) : known); at++) text[at] ^= 1 + (at & 1), sum += text[at];
}
#endif

// change digits 100000: digits by a loop instead of snprintf
#ifdef CHANGE_digits
static void turn(long i) {
    char text[32];
    if (AFTER) {
        int at = sizeof text - 1;
        text[at] = 0;
        unsigned long rest = 1000000 + i;
        do text[--at] = '0' + rest % 10;
        while (rest /= 10);
        sum += text[at];
    } else {
        snprintf(text, sizeof text, "%ld", 1000000 + i);
        sum += text[0];
    }
}
#endif

// change seek 40000: lseek and read instead of pread
#ifdef CHANGE_seek
static void turn(long i) {
    static int file = -1;
    if (file < 0) file = opened("/proc/self/exe", O_RDONLY);
    long at = (i & 15) * 512;
    if (AFTER) {
        lseek(file, at, SEEK_SET);
        sum += read(file, record, 512);
    } else {
        sum += pread(file, record, 512, at);
    }
}
#endif

// change reopen 8000: the file is opened for each read
#ifdef CHANGE_reopen
static void turn(long i) {
    static int file = -1;
    if (file < 0) file = opened("/proc/self/exe", O_RDONLY);
    sum += pread(file, record, 4096, (i & 3) * 4096);
    if (AFTER) {
        close(file);
        file = -1;
    }
}
#endif

// change doubling 300: a list grows to the double of its size instead of by one entry
#ifdef CHANGE_doubling
static void turn(long i) {
    size_t room = 0;
    long *list = 0;
    for (size_t n = 0; n < 3000; n++) {
        if (n == room) {
            room = AFTER ? 2 * room + 1 : room + 1;
            list = realloc(list, room * sizeof *list);
        }
        list[n] = i;
    }
    sum += list[100];
    free(list);
}
#endif

// change division 60: a remainder by division instead of a mask
#ifdef CHANGE_division
static volatile long modulus = 64;
static void turn(long i) {
    long by = modulus, all = 0;
    for (long n = i; n < i + 100000; n++) all += AFTER ? n % by : n & (by - 1);
    sum += all;
}
#endif

// change columns 8: a matrix is added up by columns instead of by rows
#ifdef CHANGE_columns
enum { SIDE = 1024 };
static int matrix[SIDE][SIDE];
static void turn(long i) {
    long all = i;
    if (i == 0) memset(matrix, 1, sizeof matrix);
    for (int a = 0; a < SIDE; a++)
        for (int b = 0; b < SIDE; b++) all += AFTER ? matrix[b][a] : matrix[a][b];
    sum += all;
}
#endif

// change pipes 20000: data goes through a pipe instead of a copy in memory
#ifdef CHANGE_pipes
static void turn(long i) {
    static int ends[2];
    if (i == 0 && pipe(ends)) exit(2);
    record[i & 4095] = i;
    if (AFTER) sum += write(ends[1], record, 4096) + read(ends[0], other, 4096);
    else memcpy(other, record, 4096);
    sum += other[i & 4095];
}
#endif

// change gather 20000: one writev instead of four writes
#ifdef CHANGE_gather
static void turn(long i) {
    static int file = -1;
    if (file < 0) file = opened("/dev/null", O_WRONLY);
    struct iovec all[4];
    for (int n = 0; n < 4; n++) {
        all[n] = (struct iovec){record + 64 * n, 64 + (i & 1)};
        if (!AFTER) sum += write(file, all[n].iov_base, all[n].iov_len);
    }
    if (AFTER) sum += writev(file, all, 4);
}
#endif

int main(int count, char **words) {
    long turns = count > 1 ? atol(words[1]) : 1;
    for (long i = 0; i < turns; i++) turn(i);
    return 0;
}
