// image: exec-init linux
// The first process of the Linux under `tollgate riscv exec` (crates/lab/src/exec/linux.rs). It asks the machine for the files of
// the program by semihosting calls with numbers of our own, which take no instruction of the kernel, starts the program with its
// output in files, waits for its end, and passes on how it ended and what it wrote.
#include "../user/lib.h"

// Linux's numbers of calls.
enum { DUP3 = 24, IOCTL = 29, MKDIRAT = 34, SYMLINKAT = 36, MOUNT = 40, CHDIR = 49, FCHMOD = 52, OPENAT = 56, CLOSE = 57, READ = 63,
       WRITE = 64, EXIT = 93, KILL = 129, SIGACTION = 134, SETSID = 157, UMASK = 166, CLONE = 220, EXECVE = 221, WAIT4 = 260 };
enum { HERE = -100, SIGINT = 2, SIGKILL = 9, SIGCHLD = 17, EINTR = 4, TIOCSCTTY = 0x540e };
enum { READ_ONLY = 0, WRITE_ONLY = 1, READ_WRITE = 2, CREATE = 0100, TRUNCATE = 01000, APPEND = 02000, CLOSE_ON_EXEC = 02000000 };

// The calls of crates/lab/src/exec/linux.rs.
enum { READY = 0x100, FETCH, BEGIN, ENDED, OUTPUT, FAILED, DONE };
// What can be fetched.
enum { ARCHIVE, JOB, INPUT };
// The mark in front of the program's execve: an instruction without effect.
enum { MARK = 77 };

enum { PIECE = 64 << 10, LONGEST_JOB = 512 << 10, MOST_WORDS = 8192 };

static u8 piece[PIECE];
static u8 job[LONGEST_JOB];
static u8 header[112];
static char path[4352];
static char *words[MOST_WORDS];
static volatile int interrupted;

static long host(long call, const void *block) {
    register long a0 __asm__("a0") = call;
    register const void *a1 __asm__("a1") = block;
    __asm__ volatile(".option push\n.option norvc\nslli x0, x0, 0x1f\nebreak\nsrai x0, x0, 7\n.option pop"
                     : "+r"(a0) : "r"(a1) : "memory");
    return a0;
}

static long call5(long number, long a, long b, long c, long d, long e) {
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a3 __asm__("a3") = d;
    register long a4 __asm__("a4") = e;
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a7) : "memory");
    return a0;
}

static long fetch(long what, void *to, long bytes) {
    const long block[] = {what, (long)to, bytes};
    return host(FETCH, block);
}

static void failed(long step, long error) {
    const long block[] = {step, -error};
    host(FAILED, block);
}

// The machine reads and writes only pages that are there.
static void touch(u8 *at, long bytes) {
    for (long i = 0; i < bytes; i += 4096) *(volatile u8 *)&at[i] = 0;
    *(volatile u8 *)&at[bytes - 1] = 0;
}

static long open(const char *path, long flags) { return call5(OPENAT, HERE, (long)path, flags, 0600, 0); }

static void mounts(const char *type, const char *at) {
    call5(MKDIRAT, HERE, (long)at, 0755, 0, 0);
    call5(MOUNT, (long)type, (long)at, (long)type, 0, 0);
}

static u64 field(const u8 *header, int number) {
    u64 value = 0;
    for (int i = 0; i < 8; i++) {
        u8 digit = header[6 + 8 * number + i];
        value = value << 4 | (digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
    }
    return value;
}

// One entry of the archive in the newc format of cpio; 0 behind the last one.
static int unpack(void) {
    if (fetch(ARCHIVE, header, 110) != 110) return 0;
    long mode = field(header, 1), bytes = field(header, 6), length = field(header, 11);
    // Name and contents end at a multiple of four, counted from the header's beginning.
    length = ((110 + length + 3) & ~3L) - 110;
    if (length > (long)sizeof path || fetch(ARCHIVE, path, length) != length) return failed(1, -7), 0;
    if (bytes == 0 && mode == 0) return 0;
    long file = -1, error = 0;
    if ((mode & 0170000) == 0040000) call5(MKDIRAT, HERE, (long)path, mode & 07777, 0, 0);
    if ((mode & 0170000) == 0100000) error = file = open(path, WRITE_ONLY | CREATE | TRUNCATE);
    for (long left = (bytes + 3) & ~3L, written = bytes; left > 0 && error >= 0;) {
        long now = fetch(ARCHIVE, piece, left < PIECE ? left : PIECE);
        if (now <= 0) return failed(1, -5), 0;
        if ((mode & 0170000) == 0120000) {
            piece[bytes] = 0;
            call5(SYMLINKAT, (long)piece, HERE, (long)path, 0, 0);
        }
        long own = now < written ? now : written;
        for (long done = 0; file >= 0 && done < own && error >= 0; done += error)
            error = system_call(WRITE, file, (long)piece + done, own - done);
        written -= own;
        left -= now;
    }
    if (file >= 0) system_call(FCHMOD, file, mode & 07777, 0);
    if (file >= 0) system_call(CLOSE, file, 0, 0);
    if (error < 0) failed(1, error);
    return error >= 0;
}

static void interrupt(int number) { interrupted = number; }

// Standard input, the words of the job, and the files for output.
static void prepare(char ***arguments, char ***environment) {
    long bytes = fetch(JOB, job, sizeof job - 1), count = 0;
    // The directory; each argument behind an 'a', each variable behind an 'e'.
    for (long at = 0; at < bytes && count < MOST_WORDS - 4; at++) {
        if (count > 0 && job[at] == 'e' && !*environment) *environment = &words[++count];
        words[count] = (char *)&job[count > 0 ? at + 1 : at];
        count++;
        while (at < bytes && job[at]) at++;
    }
    *arguments = words + 1;
    if (!*environment) *environment = &words[count + 1];
    long input = open("/.tollgate/in", READ_WRITE | CREATE | TRUNCATE);
    for (long now; (now = fetch(INPUT, piece, PIECE)) > 0;) system_call(WRITE, input, (long)piece, now);
    system_call(CLOSE, input, 0, 0);
}

static void start(char **arguments, char **environment) {
    system_call(SETSID, 0, 0, 0);
    static const char *const paths[] = {"/.tollgate/in", "/.tollgate/out", "/.tollgate/err"};
    for (long n = 0; n < 3; n++) {
        long file = open(paths[n], n == 0 ? READ_ONLY : WRITE_ONLY | CREATE | APPEND);
        if (file != n) system_call(DUP3, file, n, 0);
        if (file > 2) system_call(CLOSE, file, 0, 0);
    }
    system_call(UMASK, 022, 0, 0);
    long error = system_call(CHDIR, (long)words[0], 0, 0);
    if (error == 0) {
        __asm__ volatile("slti zero, zero, %0" ::"i"(MARK) : "memory");
        error = system_call(EXECVE, (long)arguments[0], (long)arguments, (long)environment);
    }
    failed(2, error);
    system_call(EXIT, 127, 0, 0);
}

static void pass_on(long number, const char *path) {
    long file = open(path, READ_ONLY);
    for (long now; (now = system_call(READ, file, (long)piece, PIECE)) > 0;) {
        const long block[] = {number, (long)piece, now};
        host(OUTPUT, block);
    }
    system_call(CLOSE, file, 0, 0);
}

int main(void) {
    static char **arguments, **environment;
    static const struct { void (*handler)(int); u64 flags, mask; } action = {interrupt, 0, 0};
    system_call(UMASK, 0, 0, 0);
    mounts("devtmpfs", "/dev");
    mounts("proc", "/proc");
    mounts("sysfs", "/sys");
    system_call(SETSID, 0, 0, 0);
    // Who types ^C there ends the program.
    long console = open("/dev/console", READ_WRITE | CLOSE_ON_EXEC);
    if (console >= 0) system_call(IOCTL, console, TIOCSCTTY, 1);
    call5(SIGACTION, SIGINT, (long)&action, 0, 8, 0);
    call5(MKDIRAT, HERE, (long)"/.tollgate", 0700, 0, 0);
    touch(piece, sizeof piece);
    touch(job, sizeof job);
    touch(header, sizeof header);
    touch((u8 *)path, sizeof path);
    host(READY, 0);
    while (unpack()) {}
    prepare(&arguments, &environment);
    host(BEGIN, 0);
    long child = call5(CLONE, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) start(arguments, environment);
    int status = 0;
    while (call5(WAIT4, child, (long)&status, 0, 0, 0) == -EINTR && interrupted) system_call(KILL, -child, SIGKILL, 0);
    const long block[] = {status, interrupted};
    host(ENDED, block);
    system_call(KILL, -1, SIGKILL, 0);
    pass_on(1, "/.tollgate/out");
    pass_on(2, "/.tollgate/err");
    host(DONE, 0);
    for (;;) {}
}
