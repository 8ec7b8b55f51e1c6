// Does awkward things in an order that its seed decides, and writes down what it did: into a file of counters that it shares
// with its children, its threads and the programs that it executes.
//
//   awkward FILE shape NAME         one action of the table below
//   awkward FILE random SEED DEPTH  a mixture of them; while DEPTH is positive it may execute itself
//   awkward FILE attach             sets up idle and busy threads, and acts when it reads a line

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// The file: what was done, by the places that awkward.rs reads.
enum { NATIVE, INT80, X32, PROCESSES, THREADS, EXECS, SIGNALS, COUNTERS = SIGNALS + 65 };
static volatile unsigned long *done;
static char *self, *file;

static void count(int what, unsigned long by) { __atomic_add_fetch(&done[what], by, __ATOMIC_SEQ_CST); }

static unsigned random_state;
static unsigned below(unsigned limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % limit;
}

// The C library makes none of these calls by itself.
static void native(int n)
{
    count(NATIVE, n);
    while (n--)
        syscall(SYS_getppid);
}

static void int80(int n)
{
#ifdef __x86_64__
    count(INT80, n);
    while (n--) {
        long result;
        __asm__ volatile("int $0x80" : "=a"(result) : "a"(64L) : "memory", "r8", "r9", "r10", "r11");
    }
#endif
}

static void x32(int n)
{
#ifdef __x86_64__
    count(X32, n);
    while (n--)
        syscall(0x40000000 | SYS_getppid);
#endif
}

static void calls(int n) { native(n), int80(n / 2 + 1), x32(n / 3 + 1), native(n); }

static void await(pid_t child)
{
    while (waitpid(child, 0, __WALL) < 0 && errno == EINTR)
        ;
}

static void forked(int n)
{
    count(PROCESSES, 1);
    pid_t child = fork();
    if (!child)
        calls(n), _exit(3);
    await(child);
}

static void vforked(int n)
{
    count(PROCESSES, 1);
    pid_t child = vfork();
    if (!child) {
        native(n);
        _exit(3);
    }
    await(child);
}

// A process whose end sends no signal.
static void cloned(int n)
{
    count(PROCESSES, 1);
    pid_t child = syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (!child)
        calls(n), _exit(0);
    await(child);
}

// Children that end at once and that nobody waits for.
static void abandoned(int n)
{
    count(PROCESSES, 1);
    pid_t child = fork();
    if (!child) {
        signal(SIGCHLD, SIG_IGN);
        for (int i = 0; i < 10; i++) {
            count(PROCESSES, 1);
            if (!fork())
                calls(n), _exit(0);
        }
        while (wait(0) > 0)
            ;
        _exit(0);
    }
    await(child);
}

static void *calling(void *n) { return calls((long)n), NULL; }

static void threads(int n)
{
    pthread_t thread[8];
    for (int i = 0; i < 8; i++)
        count(THREADS, 1), pthread_create(&thread[i], 0, calling, (void *)(long)n);
    for (int i = 0; i < 8; i++)
        pthread_join(thread[i], 0);
}

static pthread_barrier_t ready;
static void *waiting(void *unused)
{
    pthread_barrier_wait(&ready);
    while (1)
        pause();
}

static void wait_in_threads(int n)
{
    pthread_t thread;
    pthread_barrier_init(&ready, 0, n + 1);
    for (int i = 0; i < n; i++)
        count(THREADS, 1), pthread_create(&thread, 0, waiting, 0);
    pthread_barrier_wait(&ready);
}

static void idle(int n) { wait_in_threads(5), calls(n); }

// The kernel ends the other threads.
static void exit_group_of_threads(int n)
{
    count(PROCESSES, 1);
    pid_t child = fork();
    if (!child) {
        wait_in_threads(7);
        calls(n);
        syscall(SYS_exit_group, 9);
    }
    await(child);
}

// A thread ends all when the first one has ended.
static void *last(void *n)
{
    usleep(1000);
    calls((long)n);
    syscall(SYS_exit_group, 0);
    return 0;
}

static void first_thread_ends(int n)
{
    count(PROCESSES, 1);
    pid_t child = fork();
    if (!child) {
        pthread_t thread;
        count(THREADS, 1);
        pthread_create(&thread, 0, last, (void *)(long)n);
        syscall(SYS_exit, 0);
    }
    await(child);
}

static void again(const char *mode, int a, int b)
{
    char one[16], two[16];
    sprintf(one, "%d", a), sprintf(two, "%d", b);
    char *words[] = {self, file, (char *)mode, one, two, 0};
    count(EXECS, 1);
    execv("/proc/self/exe", words);
    _exit(99);
}

static void executed(int n)
{
    count(PROCESSES, 1);
    pid_t child = fork();
    if (!child)
        again("calls", n, 0);
    await(child);
}

static int storm[2];
static void *executing(void *unused) { calls(storm[0]), again("storm", storm[0], storm[1] - 1); return 0; }

// A thread among others executes the program, again and again.
static void storming(int n, int depth)
{
    calls(n);
    if (depth <= 0)
        return;
    pthread_t thread;
    storm[0] = n, storm[1] = depth;
    wait_in_threads(3);
    count(THREADS, 1);
    pthread_create(&thread, 0, executing, 0);
    while (1)
        pause();
}

static void storms(int n)
{
    count(PROCESSES, 1);
    pid_t child = fork();
    if (!child)
        storming(n, 8), _exit(0);
    await(child);
}

static const int FATAL[] = {SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGKILL, SIGUSR1, SIGSEGV, SIGPIPE, SIGALRM, SIGTERM, SIGVTALRM,
                            SIGPROF, SIGIO, SIGPWR, SIGSYS, 37, 64};

static void pausing(int threads)
{
    count(PROCESSES, 1);
    int pipes[2];
    char byte;
    if (pipe(pipes))
        _exit(98);
    pid_t child = fork();
    if (!child) {
        if (threads)
            wait_in_threads(threads);
        if (write(pipes[1], "r", 1) != 1)
            _exit(98);
        while (1)
            pause();
    }
    if (read(pipes[0], &byte, 1) != 1)
        _exit(98);
    close(pipes[0]), close(pipes[1]);
    for (unsigned i = 0; i < 3; i++) {
        int signal = FATAL[below(sizeof FATAL / sizeof *FATAL)];
        if (i < 2 && below(2))
            continue;
        count(SIGNALS + signal, 1);
        kill(child, signal);
        await(child);
        return;
    }
}

static void killed(int n) { pausing(0), pausing(n % 4); }

// A signal that is blocked when it is sent, and then kills.
static void killed_late(int n)
{
    count(PROCESSES, 1);
    pid_t child = fork();
    if (!child) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, 0);
        wait_in_threads(2);
        count(SIGNALS + SIGTERM, 1);
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGTERM);
        native(n);
        sigprocmask(SIG_UNBLOCK, &all, 0);
        _exit(97);
    }
    await(child);
}

static void received(int signal) { count(SIGNALS + signal, 1); }

static void handled(int n)
{
    signal(SIGUSR2, received), signal(40, received), signal(SIGCHLD, SIG_DFL);
    for (int i = 0; i < n; i++)
        raise(i % 2 ? SIGUSR2 : 40);
}

// Every process of a group receives the signal once.
static void to_group(int n)
{
    count(PROCESSES, 1);
    pid_t leader = fork();
    if (!leader) {
        setpgid(0, 0);
        signal(SIGUSR1, received);
        int ends[2];
        if (pipe(ends))
            _exit(98);
        for (int i = 0; i < 3; i++) {
            count(PROCESSES, 1);
            if (!fork()) {
                char byte;
                // The handler interrupts it or not; the end of the pipe ends it.
                while (read(ends[0], &byte, 1) < 0)
                    ;
                _exit(0);
            }
        }
        for (int i = 0; i < n % 5 + 1; i++) {
            unsigned long before = done[SIGNALS + SIGUSR1];
            kill(0, SIGUSR1);
            while (done[SIGNALS + SIGUSR1] < before + 4)
                sched_yield();
        }
        if (write(ends[1], "abc", 3) != 3)
            _exit(98);
        while (wait(0) > 0)
            ;
        _exit(0);
    }
    await(leader);
}

static const struct { const char *name; void (*act)(int); } ACTIONS[] = {
    {"calls", calls}, {"fork", forked}, {"vfork", vforked}, {"clone", cloned}, {"abandoned", abandoned}, {"threads", threads},
    {"idle", idle}, {"exit-group", exit_group_of_threads}, {"first-thread-ends", first_thread_ends}, {"exec", executed},
    {"exec-storm", storms}, {"killed", killed}, {"killed-late", killed_late}, {"handled", handled}, {"group", to_group},
};
#define N_ACTIONS (sizeof ACTIONS / sizeof *ACTIONS)

static volatile int stop;
static void *busy(void *unused)
{
    pthread_barrier_wait(&ready);
    while (!stop)
        ;
    return 0;
}

static void attach(void)
{
    pthread_t thread;
    char byte;
    wait_in_threads(8);
    pthread_barrier_init(&ready, 0, 2);
    pthread_create(&thread, 0, busy, 0);
    pthread_barrier_wait(&ready);
    memset((void *)done, 0, COUNTERS * sizeof *done);
    if (write(1, "r", 1) != 1 || read(0, &byte, 1) != 1)
        _exit(98);
    stop = 1;
    calls(200), forked(20), threads(20), killed(3), executed(20), handled(10);
    pthread_join(thread, 0);
    exit_group_of_threads(5);
}

int main(int argc, char **argv)
{
    struct rlimit none = {0, 0};
    if (argc < 3)
        return 2;
    self = argv[0], file = argv[1];
    int fd = open(file, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, COUNTERS * sizeof *done))
        return 2;
    done = mmap(0, COUNTERS * sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    setrlimit(RLIMIT_CORE, &none);
    // A shell starts what runs in its background with some of them ignored.
    for (unsigned i = 0; i < sizeof FATAL / sizeof *FATAL; i++)
        signal(FATAL[i], SIG_DFL);
    const char *mode = argv[2];
    int a = argc > 3 ? atoi(argv[3]) : 0, b = argc > 4 ? atoi(argv[4]) : 0;
    random_state = a;
    if (!strcmp(mode, "attach"))
        attach();
    if (!strcmp(mode, "calls"))
        calls(a);
    if (!strcmp(mode, "storm"))
        storming(a, b);
    for (unsigned i = 0; !strcmp(mode, "shape") && i < N_ACTIONS; i++)
        if (!strcmp(argv[3], ACTIONS[i].name))
            ACTIONS[i].act(100);
    if (!strcmp(mode, "random")) {
        for (int i = 0; i < 12; i++)
            ACTIONS[below(N_ACTIONS)].act(1 + below(60));
        if (b > 0)
            again("random", a + 1, b - 1);
    }
    return 0;
}
