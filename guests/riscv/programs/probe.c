// image: probe linux
// image: probe-xv6 linux -DXV6 -Wl,-N -Wl,-Ttext=0
// image: probe-pk linux -DPK -Wl,-N
// The first process of a Linux or xv6, or the program on riscv-pk, whose crossings are billed (crates/lab/src/kernel). It asks
// on the console which ones, makes each many times with warm caches, then a few times after it has read more memory than
// caches hold, and says that it is done.
// Who watches sees the crossings themselves; so nothing is measured or printed here.
//
// A mark, an instruction without effect (RISC-V's hints for custom use), says where a crossing begins and of which kind it is,
// and where it has ended. The crossing itself is from the first trap behind the mark to the return from the last one
// before the other.
#include "../user/lib.h"

// The crossings, in the order of `CROSSINGS` in crates/lab/src/kernel/crossings.rs.
enum { END, GETPID, READ, WRITE, OPENAT, FAULT_ANONYMOUS, FAULT_FILE, FAULT_COPY, SIGNAL, SWITCH_PROCESS, SWITCH_THREAD, FORK,
       EXEC, TICK, IPI, CROSSINGS };
// The mark behind all of them.
enum { DONE = 99 };
#ifdef XV6
// xv6's numbers of calls, and a device of it.
enum { CALL_FORK = 1, CALL_EXIT = 2, CALL_WAIT = 3, CALL_PIPE = 4, CALL_READ = 5, CALL_EXEC = 7, CALL_GETPID = 11,
       CALL_OPEN = 15, CALL_WRITE = 16, CALL_MKNOD = 17, CALL_CLOSE = 21, CONSOLE = 1,
       FIRST_CALL = CALL_GETPID };
// It copies and clears each page of a process one byte at a time.
enum { MEMORY = 256 << 10, WARM_TASKS = 12 };
#else
// Linux's numbers of calls.
enum { CALL_FTRUNCATE = 46, CALL_OPENAT = 56, CALL_CLOSE = 57, CALL_PIPE2 = 59, CALL_READ = 63, CALL_WRITE = 64,
       CALL_EXIT = 93, CALL_SETAFFINITY = 122, CALL_KILL = 129, CALL_SIGACTION = 134, CALL_GETPID = 172, CALL_GETPPID = 173,
       CALL_CLONE = 220, CALL_EXECVE = 221, CALL_MMAP = 222, CALL_MADVISE = 233, CALL_WAIT4 = 260, CALL_MEMBARRIER = 283,
       CALL_MUNMAP = 215,
       FIRST_CALL = CALL_GETPPID };
enum { MEMORY = 2 << 20, WARM_TASKS = 60 };
#endif
#ifdef PK
// riscv-pk has the numbers of Linux's calls, one process with the number 0, and streams that go one way.
enum { MY_NUMBER = 0, OUTPUT = 1 };
#else
enum { MY_NUMBER = 1, OUTPUT = 0 };
#endif
enum { HERE = -100, READ_WRITE = 3, PRIVATE = 2, ANONYMOUS = 0x20, DONTNEED = 4, CREATE = 0100, SIGUSR1 = 10, SIGCHLD = 17 };
// Commands of membarrier: to interrupt the harts that run this process, and to permit that.
enum { PRIVATE_EXPEDITED = 8, REGISTER_PRIVATE_EXPEDITED = 16 };
// CLONE_VM, FS, FILES, SIGHAND, THREAD and SYSVSEM.
enum { THREAD = 0x50f00 };
enum { WARM = 200, EVICTED = 12, LINE = 64, PAGE = 4096, AROUND = 16 * PAGE, STACK = 4096 };
// Ticks of 4 ms come 16 times, of the 10 MHz of the machine's time.
enum { SPIN = 16 * 40000 };

#define MARK(kind) __asm__ volatile("slti zero, zero, %0" ::"i"(kind) : "memory")

static u8 memory[MEMORY];
#ifndef PK
static int to[2], from[2];
#endif

static void evict(int i, int warm) {
    if (i < warm) return;
    for (u64 at = 0; at < sizeof memory; at += LINE) *(volatile u8 *)&memory[at];
}

#define TIMES(warm) for (int i = 0; evict(i, warm), i < warm + EVICTED; i++)
#define CALLS(kind, number, a, b, c)                       \
    TIMES(WARM) {                                          \
        MARK(kind);                                        \
        long result = system_call(number, a, b, c);        \
        MARK(END);                                         \
        if (kind == OPENAT) system_call(CALL_CLOSE, result, 0, 0); \
    }

#ifdef XV6
static long fork(void) { return system_call(CALL_FORK, 0, 0, 0); }
static void reap(void) { system_call(CALL_WAIT, 0, 0, 0); }
static void execute(const char *name, const char *const *list) { system_call(CALL_EXEC, (long)name, (long)list, 0); }
static void make_pipe(int *ends) { system_call(CALL_PIPE, (long)ends, 0, 0); }
static long open(const char *name, long flags) { return system_call(CALL_OPEN, (long)name, flags, 0); }

// The first file that is open.
static void open_console(void) {
    if (open("console", 2) == 0) return;
    system_call(CALL_MKNOD, (long)"console", CONSOLE, 0);
    open("console", 2);
}

// To a pipe, which another call then empties.
static void writes(void) {
    u8 byte = 0;
    make_pipe(to);
    TIMES(WARM) {
        MARK(WRITE);
        system_call(CALL_WRITE, to[1], (long)&byte, 1);
        MARK(END);
        system_call(CALL_READ, to[0], (long)&byte, 1);
    }
}
#else
static long call6(long number, long a, long b, long c, long d, long e, long f) {
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a3 __asm__("a3") = d;
    register long a4 __asm__("a4") = e;
    register long a5 __asm__("a5") = f;
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7) : "memory");
    return a0;
}

#ifndef PK
static long fork(void) { return call6(CALL_CLONE, SIGCHLD, 0, 0, 0, 0, 0); }
static void reap(void) { call6(CALL_WAIT4, -1, 0, 0, 0, 0, 0); }
static void execute(const char *name, const char *const *list) { system_call(CALL_EXECVE, (long)name, (long)list, 0); }
static void make_pipe(int *ends) { system_call(CALL_PIPE2, (long)ends, 0, 0); }
#endif

static long open(const char *name, long flags) { return call6(CALL_OPENAT, HERE, (long)name, flags, 0600, 0, 0); }

static volatile u8 *map(long file) {
    return (volatile u8 *)call6(CALL_MMAP, 0, AROUND, READ_WRITE, PRIVATE | (file < 0 ? ANONYMOUS : 0), file, 0);
}

#ifdef PK
// The first touch of a page of a new mapping: madvise does not discard pages here.
static void faults_file(void) {
    long file = open("/dev/zero", 0);
    TIMES(WARM) {
        volatile u8 *pages = map(file);
        MARK(FAULT_FILE);
        pages[0];
        MARK(END);
        system_call(CALL_MUNMAP, (long)pages, AROUND, 0);
    }
}

static void faults_anonymous(void) {
    TIMES(WARM) {
        volatile u8 *pages = map(-1);
        MARK(FAULT_ANONYMOUS);
        pages[0] = 1;
        MARK(END);
        system_call(CALL_MUNMAP, (long)pages, AROUND, 0);
    }
}
#else
// The first touch of a page without a mapping.
static void faults_anonymous(void) {
    volatile u8 *pages = map(-1);
    pages[0] = 1;
    TIMES(WARM) {
        system_call(CALL_MADVISE, (long)pages + PAGE, PAGE, DONTNEED);
        MARK(FAULT_ANONYMOUS);
        pages[PAGE] = 1;
        MARK(END);
    }
}

// Of a file in the page cache; the kernel maps the 16 pages around.
static volatile u8 *file_pages(void) {
    long file = open("/data", CREATE | 2);
    system_call(CALL_FTRUNCATE, file, AROUND, 0);
    volatile u8 *pages = map(file);
    for (long at = 0; at < AROUND; at += PAGE) pages[at];
    return pages;
}

static void faults_file(void) {
    volatile u8 *pages = file_pages();
    TIMES(WARM) {
        system_call(CALL_MADVISE, (long)pages, AROUND, DONTNEED);
        MARK(FAULT_FILE);
        pages[PAGE];
        MARK(END);
    }
}

static void faults_copy(void) {
    volatile u8 *pages = file_pages();
    TIMES(WARM) {
        system_call(CALL_MADVISE, (long)pages, AROUND, DONTNEED);
        pages[PAGE];
        MARK(FAULT_COPY);
        pages[PAGE] = 1;
        MARK(END);
    }
}

static void handler(int number) { (void)number; }

// From kill to the handler and back to where kill returns.
static void signals(void) {
    long action[4] = {(long)handler, 0, 0, 0};
    call6(CALL_SIGACTION, SIGUSR1, (long)action, 0, 8, 0, 0);
    long self = system_call(CALL_GETPID, 0, 0, 0);
    TIMES(WARM) {
        MARK(SIGNAL);
        system_call(CALL_KILL, self, SIGUSR1, 0);
        MARK(END);
    }
}
#endif
#endif

#ifndef PK
// The other side of the pipes: the crossing ends when its read returns.
static void echo(void) {
    u8 byte;
    for (int i = 0; i < WARM + EVICTED; i++) {
        system_call(CALL_READ, to[0], (long)&byte, 1);
        MARK(END);
        system_call(CALL_WRITE, from[1], (long)&byte, 1);
    }
    system_call(CALL_EXIT, 0, 0, 0);
}

static void pipes(void) {
    make_pipe(to);
    make_pipe(from);
}

// From the write that wakes until the other one's read returns.
static void switches_process(void) {
    u8 byte = 0;
    pipes();
    if (fork() == 0) echo();
    TIMES(WARM) {
        MARK(SWITCH_PROCESS);
        system_call(CALL_WRITE, to[1], (long)&byte, 1);
        system_call(CALL_READ, from[0], (long)&byte, 1);
    }
    reap();
}

#ifndef XV6
// On a stack of its own from the first instruction on.
static void start(void (*run)(void), u8 *top) {
    register long a0 __asm__("a0") = THREAD;
    register long a1 __asm__("a1") = (long)top;
    register long a2 __asm__("a2") = 0;
    register long a3 __asm__("a3") = 0;
    register long a4 __asm__("a4") = 0;
    register long a7 __asm__("a7") = CALL_CLONE;
    __asm__ volatile("ecall; bnez a0, 1f; jalr %6; 1:"
                     : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a7), "r"(run) : "memory", "ra");
}

static void switches_thread(void) {
    static u8 stack[STACK] __attribute__((aligned(16)));
    u8 byte = 0;
    pipes();
    start(echo, stack + sizeof stack);
    TIMES(WARM) {
        MARK(SWITCH_THREAD);
        system_call(CALL_WRITE, to[1], (long)&byte, 1);
        system_call(CALL_READ, from[0], (long)&byte, 1);
    }
}

#endif

// A process that ends at once, and the wait for its end.
static void forks(void) {
    TIMES(WARM_TASKS) {
        MARK(FORK);
        if (fork() == 0) system_call(CALL_EXIT, 0, 0, 0);
        reap();
        MARK(END);
    }
}

static void execs(void) {
    static const char *const arguments[] = {"/init", 0};
    TIMES(WARM_TASKS) {
        MARK(EXEC);
        if (fork() == 0) {
            execute(arguments[0], arguments);
            system_call(CALL_EXIT, 1, 0, 0);
        }
        reap();
        MARK(END);
    }
}

#ifndef XV6
static u64 now(void) {
    u64 time;
    __asm__ volatile("rdtime %0" : "=r"(time));
    return time;
}

// Each interrupt between the marks is a crossing.
static void ticks(void) {
    MARK(TICK);
    for (u64 end = now() + SPIN; now() < end;) {
    }
    MARK(END);
}

// Only on these harts.
static void stay_on(u64 harts) { system_call(CALL_SETAFFINITY, 0, sizeof harts, (long)&harts); }

static volatile int interrupted;

// Interrupts the other hart.
static void interrupt(void) {
    stay_on(1 << 0);
    for (int i = 0; i < WARM; i++) system_call(CALL_MEMBARRIER, PRIVATE_EXPEDITED, 0, 0);
    interrupted = 1;
    system_call(CALL_EXIT, 0, 0, 0);
}

// Each interrupt between the marks is a crossing.
static void interrupts(void) {
    static u8 stack[STACK] __attribute__((aligned(16)));
    system_call(CALL_MEMBARRIER, REGISTER_PRIVATE_EXPEDITED, 0, 0);
    start(interrupt, stack + sizeof stack);
    MARK(IPI);
    while (!interrupted) {
    }
    MARK(END);
}

#endif
#endif

// The numbers of crossings, in one line.
static int asked(u8 *is_asked) {
    static const char question[] = "tollgate: which crossings?\n";
    u8 line[128];
    system_call(CALL_WRITE, OUTPUT, (long)question, sizeof question - 1);
    long n = system_call(CALL_READ, 0, (long)line, sizeof line);
    int number = 0, some = 0;
    for (long i = 0; i < n; i++) {
        if (line[i] >= '0' && line[i] <= '9') {
            number = 10 * number + line[i] - '0';
            continue;
        }
        if (number > 0 && number < CROSSINGS) is_asked[number] = some = 1;
        number = 0;
    }
    return some;
}

int main(void) {
    // Who is not the first process was started by it, to end.
    if (system_call(CALL_GETPID, 0, 0, 0) != MY_NUMBER) system_call(CALL_EXIT, 0, 0, 0);
    // Pages of its own, not all of them the zero page.
    for (u64 i = 0; i < sizeof memory; i += PAGE) memory[i] = 1;
#ifdef XV6
    open_console();
#endif
    static u8 is_asked[CROSSINGS];
    while (!asked(is_asked)) {
    }
#if !defined XV6 && !defined PK
    // The hart that is watched; without a second one this does nothing.
    stay_on(1 << 1);
#endif
    // Who watches waits for this one.
    for (int i = 0; i < 1000; i++) system_call(FIRST_CALL, 0, 0, 0);
    u8 byte = 0;
    if (is_asked[GETPID]) CALLS(GETPID, CALL_GETPID, 0, 0, 0);
#ifdef XV6
    long file = open("/init", 0);
    if (is_asked[READ]) CALLS(READ, CALL_READ, file, (long)&byte, 1);
    if (is_asked[WRITE]) writes();
    if (is_asked[OPENAT]) CALLS(OPENAT, CALL_OPEN, (long)"/init", 0, 0);
    if (is_asked[SWITCH_PROCESS]) switches_process();
    if (is_asked[FORK]) forks();
    if (is_asked[EXEC]) execs();
#else
#ifdef PK
    long zero = open("/dev/zero", 0), null = OUTPUT;
#else
    long zero = open("/dev/zero", 0), null = open("/dev/null", 1);
#endif
    if (is_asked[READ]) CALLS(READ, CALL_READ, zero, (long)&byte, 1);
    if (is_asked[WRITE]) CALLS(WRITE, CALL_WRITE, null, (long)&byte, 1);
    if (is_asked[OPENAT]) CALLS(OPENAT, CALL_OPENAT, HERE, (long)"/init", 0);
    if (is_asked[FAULT_ANONYMOUS]) faults_anonymous();
    if (is_asked[FAULT_FILE]) faults_file();
#ifndef PK
    if (is_asked[FAULT_COPY]) faults_copy();
    if (is_asked[SIGNAL]) signals();
    if (is_asked[SWITCH_PROCESS]) switches_process();
    if (is_asked[SWITCH_THREAD]) switches_thread();
    if (is_asked[FORK]) forks();
    if (is_asked[EXEC]) execs();
    if (is_asked[TICK]) ticks();
    if (is_asked[IPI]) interrupts();
#endif
#endif
    MARK(DONE);
    for (;;) {
    }
}
