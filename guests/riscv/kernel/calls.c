// The system calls, with the numbers and results of Linux and as little work as possible. All code in this file belongs to
// the handler phase of the bill.
#include "asm.h"
#include "kernel.h"

enum { ENOSYS = 38, EBADF = 9, EFAULT = 14, EINVAL = 22 };

// The state of the running program.
struct process {
    int pid, uid;
};
static volatile struct process current = {.pid = 1, .uid = 0};

// Ticks per second, from the device tree.
u64 timebase;

// Written bytes stay here until fsync, exit or a full buffer, so that a write costs the same on every engine: the time that
// a host takes to accept a character is not a cost of the kernel.
static u8 console[4096];
static u64 console_used;

void console_flush(void) {
    for (u64 i = 0; i < console_used; i++) console_put(console[i]);
    console_used = 0;
}

#ifdef ASID
// For what the kernel itself has to say before any program writes.
void console_append(const char *text) {
    while (*text) console[console_used++] = *text++;
}
#endif

// A supervisor may read and write user memory only while status.SUM is set (privileged specification,
// 10.1.1.2). Machine mode without translation needs no such switch.
static inline void user_memory(int open) {
#ifndef KERNEL_M
    if (open)
        __asm__ volatile("csrs sstatus, %0" ::"r"(1UL << 18) : "memory");
    else
        __asm__ volatile("csrc sstatus, %0" ::"r"(1UL << 18) : "memory");
#else
    (void)open;
#endif
}

static inline int is_user(u64 address, u64 bytes) {
    return address >= USER_BASE && address < USER_END && bytes <= USER_END - address;
}

static long sys_getpid(void) { return current.pid; }
static long sys_getuid(void) { return current.uid; }

static long sys_write(u64 fd, u64 from, u64 bytes) {
    if (fd != 1 && fd != 2) return -EBADF;
    if (!is_user(from, bytes)) return -EFAULT;
    user_memory(1);
    for (u64 i = 0; i < bytes; i++) {
        if (console_used == sizeof console) console_flush();
        console[console_used++] = ((volatile u8 *)from)[i];
    }
    user_memory(0);
    return bytes;
}

// The counter behind the time CSR, from the CLINT itself: QEMU's spike machine has no time CSR.
static inline u64 ticks(void) { return *(volatile u64 *)CLINT_MTIME; }

static long put_pair(u64 to, u64 first, u64 second) {
    if (!is_user(to, 16)) return -EFAULT;
    user_memory(1);
    ((volatile u64 *)to)[0] = first;
    ((volatile u64 *)to)[1] = second;
    user_memory(0);
    return 0;
}

static long sys_clock_gettime(u64 clock, u64 to) {
    if (clock > 1) return -EINVAL;
    u64 t = ticks();
    return put_pair(to, t / timebase, t % timebase * 1000000000 / timebase);
}

static long sys_gettimeofday(u64 to) {
    u64 t = ticks();
    return put_pair(to, t / timebase, t % timebase * 1000000 / timebase);
}

static long sys_fsync(void) {
    console_flush();
    return 0;
}

static long sys_exit(u64 status) { power_off(status & 0xff); }

long sys_unimplemented(void) { return -ENOSYS; }

// Two calls of our own, in the range that Linux reserves for architectures. The first raises an interrupt of the kernel's
// own mode during the call. A kernel with interrupts enabled takes it immediately, nested.
static long sys_nest(void) {
#ifdef KERNEL_M
    *(volatile u32 *)CLINT_MSIP = 1;
#else
    __asm__ volatile("csrsi sip, 2");
#endif
    return 0;
}

// Number of task switches.
volatile u64 switches;
static long sys_switches(void) { return switches; }

#ifdef WORKLOAD
// A kernel with a working set: reads as many bytes of it as the parameter says, line by line.
static volatile u8 kernel_data[1 << 20];
static long sys_touch(u64 bytes) {
    if (bytes > sizeof kernel_data) return -EINVAL;
    u64 sum = 0;
    for (u64 i = 0; i < bytes; i += 64) sum += kernel_data[i];
    return sum;
}
#endif

// The handler of the software interrupt: acknowledges it and sets the flag that the program polls.
extern volatile u64 toll_flag;
void soft_interrupt(void) {
#ifdef KERNEL_M
    *(volatile u32 *)CLINT_MSIP = 0;
#ifdef PAIR
    *(volatile u64 *)CLINT_MTIMECMP = 0;
#else
    toll_flag = 1;
#endif
#else
    __asm__ volatile("csrci sip, 2");
#endif
}
#ifdef PAIR
void timer_interrupt(void) {
    *(volatile u64 *)CLINT_MTIMECMP = ~0UL;
    toll_flag = 1;
}
#endif

void *const call_table[CALL_TABLE_SIZE] = {
    [0 ... CALL_TABLE_SIZE - 1] = sys_unimplemented,
    [64] = sys_write,
    [82] = sys_fsync,
    [93] = sys_exit,
    [94] = sys_exit,
    [113] = sys_clock_gettime,
    [169] = sys_gettimeofday,
    [172] = sys_getpid,
    [174] = sys_getuid,
    [244] = sys_nest,
    [245] = sys_switches,
#ifdef WORKLOAD
    [250] = sys_touch,
#endif
};
