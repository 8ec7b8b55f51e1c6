// Counts and times what a program crosses, in the kernel: one entry for each of its tasks, sums in per-CPU arrays, no stream
// of events. crates/toll/src/bpf.rs loads the object and reads the arrays; the layouts below are repeated there.
//
// A task is always in one mode since one moment. Each event charges the time since then to the mode and begins another.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;
typedef int s32;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define APART static __attribute__((noinline))
#define MAP(kind, entries, key_type, value_type) \
    int (*type)[kind]; int (*max_entries)[entries]; key_type *key; value_type *value
#define HASH 1
#define ARRAY 2
#define PERCPU_ARRAY 6
#define STACK_TRACE 7

struct task_struct;
struct pt_regs;

// Helpers by their numbers in linux/bpf.h.
static void *(*lookup)(void *map, const void *key) = (void *)1;
static long (*update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static u64 (*now_ns)(void) = (void *)5;
static u32 (*cpu_number)(void) = (void *)8;
static u64 (*pid_tgid)(void) = (void *)14;
static long (*stack_id)(void *context, void *map, u64 flags) = (void *)27;
static long (*read_user)(void *to, u32 bytes, const void *from) = (void *)112;
static long (*read_kernel)(void *to, u32 bytes, const void *from) = (void *)113;
static struct task_struct *(*current_task)(void) = (void *)158;
static struct pt_regs *(*task_regs)(struct task_struct *task) = (void *)175;
#define USER_STACK (1 << 8)
#define IF_NEW 1
#define FIELD_EXISTS 2

// The fields of the kernel's structures that are read; the loader finds their offsets in the running kernel's BTF.
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct thread_info { u32 status; u32 cpu; };  // status: of x86 only
struct sched_entity { u64 exec_start; u64 sum_exec_runtime; };
struct signal_struct { struct task_struct *curr_target; s32 group_exit_code; u32 flags; };
struct task_struct {
    struct thread_info thread_info; struct sched_entity se; s32 pid; s32 tgid; struct signal_struct *signal;
    u64 nvcsw, nivcsw, min_flt, maj_flt;
};
struct pt_regs { u64 ip, sp, ax, orig_ax, pstate; };  // pstate of arm64, the others of x86-64 only
#pragma clang attribute pop

// UNSEEN: in a call whose entry was not seen.
enum mode { BORN, USER, CALL, CHILD, UNKNOWN, UNSEEN };
// OFF_UNSEEN: it ran or waited when counting began, and has shown neither yet.
enum off { OFF_WAITS = 1, OFF_READY, OFF_UNSEEN };

struct task {
    u64 since;       // when the mode began, or the task left the CPU
    u64 user_ns;     // in user mode since the task was last charged
    u64 call_ns;     // of the current call, on the CPU
    u64 call_off;    // of the current call, off it
    u64 fault_ns;    // of the current fault
    u64 fault_off;
    u64 on_since;    // when it came to the CPU
    u64 ran;         // what the kernel had accounted when it left the CPU
    u32 call;        // number of the current call
    u32 cpu;         // the last CPU
    u8 mode;
    u8 in_fault;
    u8 in_interrupt;
    u8 off;          // not on a CPU: OFF_WAITS or OFF_READY
    u8 code;         // the processor's error code of the fault, if there is one
    u8 mapped;       // kinds of pages that the fault mapped, as bits of enum member
    u8 timing;       // whether the current call is timed
    u8 walking;      // its stack is being read: a fault in that is ours
    u32 tid;         // whose slot it is; zero if it is free
    u32 random;
    u64 who;         // the address of its task_struct; zero until it is seen
    u64 base_ran;    // what the kernel had accounted before it was counted: time, switches, faults
    u32 base_switches, base_faults;
    u32 executor;    // a thread of this process that executes a program, and so takes its number
    u32 pad;
};

// A time stamp costs as much as the rest of counting. The first calls of each number are all timed, then one in eight, at
// random so that no pattern of the program meets it. Of a program that calls very often the loader attaches `sys_enter` in
// short windows only, in which each call is timed. `sys_exit` stays attached and counts, so that counts are exact and no
// state is left over from one window to the next.
enum timing { UNTIMED, TIMED, SAMPLED, IN_WINDOW };
#define ALWAYS 512
#define IN_EIGHT (1u << 29)

struct tally {
    u64 count, ns, off, errors, one_byte, switches;
    u64 others;      // calls of which some were sampled: how many of them, their nanoseconds, and the squares of ns / 64
    u64 sampled, sampled_ns, squares;
    u64 unseen;      // calls whose entry was not seen
    u64 windowed, windowed_ns;  // calls that were timed in windows
};

// Set by the loader where calls can be counted by their exits alone, and while `sys_enter` is attached in windows only.
volatile const u32 EXITS_ALONE = 0;
volatile u32 windows;

// The elements of `totals`.
enum total {
    CPU_NS, USER_NS, INTERRUPT_NS, PREEMPTED_NS, VOLUNTARY, INVOLUNTARY, MOVED, WOKEN_HERE, WOKEN_THERE,
    PROCESSES, THREADS, EXECS, ENDED, INTERRUPTS, BIRTH_NS, BEFORE_NS, LOST, LOST_SITES,
    RAN_NS, SWITCHES, FAULT_ACCOUNTS,  // by the kernel's own accounts of the tasks that have ended
    TOTALS
};

enum fault { ANONYMOUS, ZERO_PAGE, COPY_ON_WRITE, FILE_MINOR, MAJOR, HUGE, PROTECTION, FAULTS };

// Members of the resident set (linux/mm_types_task.h), and a bit of ours.
enum member { FILE_PAGES = 1 << 0, ANON_PAGES = 1 << 1, SHMEM_PAGES = 1 << 3, HUGE_PAGE = 1 << 7 };
#define HUGE_ORDER 9

// The elements of `calls`: numbers of this architecture, of its 32-bit one, and of x32; others are counted together in the last.
#define NATIVE 1024
#define COMPAT 512
#define X32 576
#define CALLS (NATIVE + COMPAT + X32 + 1)
#define X32_BIT 0x40000000
#define TS_COMPAT 2  // asm/thread_info.h of x86: the current call is by the 32-bit ABI
#define PSR_MODE32_BIT 0x10  // asm/ptrace.h of arm64
// These calls restore the number that was there before: rt_sigreturn of x86-64, sigreturn of i386.
#define SIGRETURN 15
#define COMPAT_SIGRETURN (NATIVE + 119)
#define EXECVE 59
#define EXECVEAT 322
#define COMPAT_EXECVE (NATIVE + 11)
#define COMPAT_EXECVEAT (NATIVE + 358)
#define SIGNALS 65
#define SIGKILL 9
#define SIGNAL_DELIVERED 0  // TRACE_SIGNAL_DELIVERED of trace/events/signal.h
#define SIGNAL_GROUP_EXIT 4  // linux/sched/signal.h

// A task is in the slot of its number: the kernel's code reads an array in line, and would call a function for a hash.
#define SLOTS 65536
struct { MAP(ARRAY, SLOTS, u32, struct task); } tasks SEC(".maps");
// The number of the task on each CPU if it is counted, zero if it is not or not known: a kernel can hide the switches of some
// tasks. The kernel's code reads it in line, and would call a function, ten times as expensive, for the current task.
// `clock` is what the kernel's clock of the time that tasks run is behind ours.
struct cpu { u32 tid; u32 pad; u64 calls, clock; };
struct { MAP(PERCPU_ARRAY, 1, u32, struct cpu); } running SEC(".maps");
struct { MAP(PERCPU_ARRAY, CALLS, u32, struct tally); } calls SEC(".maps");
struct { MAP(PERCPU_ARRAY, FAULTS, u32, struct tally); } faults SEC(".maps");
struct { MAP(PERCPU_ARRAY, SIGNALS, u32, u64); } signals SEC(".maps");
struct { MAP(PERCPU_ARRAY, TOTALS, u32, u64); } totals SEC(".maps");

// Call sites: who crosses what. The loader sets `WALK`, and gives the maps their real sizes; otherwise the kernel removes the code.
volatile const u32 WALK = 0;
#define FRAMES 64
#define SKIPPED (1 << 30)  // of a stack without its innermost frame

struct place { u64 ip, caller; s32 stack; u32 pad; };

// Of a task, in its slot: where its call and its fault came from, and how many programs its process has executed.
struct places { struct place call, fault; u32 image; u32 pad; };

struct site { u32 tgid, image, boundary; s32 stack; u64 ip, caller; };
#define IS_FAULT (1 << 16)

struct { MAP(ARRAY, 1, u32, struct places); } places SEC(".maps");
struct { MAP(HASH, 1, struct site, struct tally); } sites SEC(".maps");
struct stack { u64 frames[FRAMES]; };
struct { MAP(STACK_TRACE, 1, u32, struct stack); } stacks SEC(".maps");

static inline struct places *places_of(u32 tid)
{
    u32 slot = tid & (SLOTS - 1);
    return lookup(&places, &slot);
}

// What is on top of the stack, if it is the return address of a call: the kernel finds callers by their frame pointers, and
// the functions of the C library that enter it have none, so their caller would be missing.
static inline u64 return_address(u64 sp)
{
    u64 word = 0;
    u8 code[8] = {};
    if (read_user(&word, sizeof word, (void *)sp) || read_user(code, 7, (void *)(word - 7)))
        return 0;
    u8 short_form = code[6] & 0xf8, middle = code[5] & 0xf8, long_form = code[2] & 0xf8;
    int is_call = code[2] == 0xe8                                             // call relative
        || (code[1] == 0xff && (code[2] == 0x15 || long_form == 0x90))        // call [rip + 32 bits], [register + 32 bits]
        || (code[5] == 0xff && (short_form == 0xd0 || short_form == 0x10))    // call register, [register]
        || (code[4] == 0xff && middle == 0x50);                               // call [register + 8 bits]
    return is_call ? word : 0;
}

APART void walk(struct task *t, void *context, u64 registers, struct place *place)
{
    struct pt_regs *regs = (void *)registers;
    u64 sp = 0;
    t->walking = 1;
    place->ip = place->caller = 0;
    if (__builtin_preserve_field_info(regs->ip, FIELD_EXISTS)) {
        read_kernel(&place->ip, sizeof place->ip, &regs->ip);
        read_kernel(&sp, sizeof sp, &regs->sp);
        place->caller = return_address(sp);
    }
    place->stack = stack_id(context, &stacks, USER_STACK);
    if (place->stack < 0 && place->ip) {
        // Another stack has the place in the map; without the innermost frame, which is known, this one has another place.
        long skipped = stack_id(context, &stacks, USER_STACK | 1);
        place->stack = skipped < 0 ? -1 : skipped | SKIPPED;
    }
    t->walking = 0;
}

// Counts a crossing where it came from. Threads share an entry, so that the sums are atomic.
APART void count_site(const struct places *at, const struct place *place, u32 boundary, u64 ns, u8 timing)
{
    struct site key = {
        pid_tgid() >> 32, at->image, boundary, place->stack < 0 ? -1 : place->stack, place->ip, place->caller
    };
    struct tally *sum = lookup(&sites, &key);
    if (!sum) {
        struct tally none = {};
        update(&sites, &key, &none, IF_NEW);
        sum = lookup(&sites, &key);
    }
    if (!sum) {
        u32 total = LOST_SITES;
        u64 *lost = lookup(&totals, &total);
        if (lost)
            *lost += 1;
        return;
    }
    __sync_fetch_and_add(&sum->count, 1);
    if (timing == TIMED) {
        __sync_fetch_and_add(&sum->ns, ns);
    } else {
        __sync_fetch_and_add(&sum->others, 1);
        if (timing == SAMPLED) {
            u64 coarse = ns >> 6;
            __sync_fetch_and_add(&sum->sampled, 1);
            __sync_fetch_and_add(&sum->sampled_ns, ns);
            __sync_fetch_and_add(&sum->squares, coarse * coarse);
        }
    }
}

static inline struct task *slot_of(u32 tid)
{
    u32 slot = tid & (SLOTS - 1);
    return lookup(&tasks, &slot);
}

static inline struct task *task_of(u32 tid)
{
    struct task *t = slot_of(tid);
    return t && t->tid == tid && tid ? t : 0;
}

// The slot of a task at a switch. An execution by another thread than the first exchanges the numbers of both in the middle
// of the call, so that the number alone may lead to the other one.
static inline struct task *slot_at(struct task_struct *p)
{
    struct task *t = task_of(p->pid);
    if (t && !t->who)
        t->who = (u64)p;
    if (t && t->who == (u64)p)
        return t;
    struct task *first = slot_of(p->tgid);
    if (!first)
        return 0;
    if (first->tid && first->who == (u64)p)
        return first;
    t = task_of(first->executor);
    return t && t->who == (u64)p ? t : 0;
}

static inline struct cpu *this_cpu(void)
{
    u32 zero = 0;
    return lookup(&running, &zero);
}

static inline void set_running(u32 tid)
{
    struct cpu *here = this_cpu();
    if (here)
        here->tid = tid;
}

static inline void add(u32 total, u64 value)
{
    u64 *sum = lookup(&totals, &total);
    if (sum)
        *sum += value;
}

// The task comes to this CPU.
static inline void resume(struct task *t, u64 now)
{
    u64 ns = now - t->since;
    if (t->mode == BORN || !t->since || t->off == OFF_UNSEEN)
        ns = 0;
    else if (t->cpu != cpu_number())
        add(MOVED, 1);
    if (t->off == OFF_READY)  // whatever it was doing
        add(PREEMPTED_NS, ns);
    else if (t->in_fault)
        t->fault_off += ns;
    else if (t->mode == CALL || t->mode == UNSEEN)
        t->call_off += ns;
    t->since = t->on_since = now;
    t->off = 0;
}

// A kernel can hide the switch to a task. The task came to the CPU before the kernel last accounted its time, by what it has run
// since it left.
static inline void resume_hidden(struct task *t, struct task_struct *p, u64 accounted)
{
    // It was on its CPU all the time.
    if (t->off == OFF_UNSEEN) {
        t->off = 0;
        return;
    }
    u64 at = accounted - (p->se.sum_exec_runtime - t->ran);
    resume(t, at < t->since ? t->since : at);
}

// The same for the task on this CPU. Before a counted task has left this CPU its clock is not known, and what the task has run
// since the last account, a tick at most, counts as waiting.
static inline void resume_current(struct task *t, struct cpu *here)
{
    u64 now = now_ns(), accounted = now;
    if (!EXITS_ALONE && t->off != OFF_UNSEEN) {
        resume(t, now);
        return;
    }
    struct task_struct *p = current_task();
    if (here && here->clock && p->se.exec_start + here->clock < now)
        accounted = p->se.exec_start + here->clock;
    resume_hidden(t, p, accounted);
}

static inline struct task *task_on(struct cpu *here)
{
    if (here && here->tid)
        return task_of(here->tid);
    struct task *t = task_of((u32)pid_tgid());
    if (t && here)
        here->tid = t->tid;
    if (t && t->off)
        resume_current(t, here);
    return t;
}

static inline struct task *current(void) { return task_on(this_cpu()); }

// Whether the current call of a task is by the 32-bit ABI: a 64-bit program can make one, too (int $0x80).
static inline int is_compat(struct task_struct *p, struct pt_regs *regs)
{
    if (__builtin_preserve_field_info(p->thread_info.status, FIELD_EXISTS))
        return p->thread_info.status & TS_COMPAT;
    u64 state = 0;
    if (__builtin_preserve_field_info(regs->pstate, FIELD_EXISTS))
        read_kernel(&state, sizeof state, &regs->pstate);
    return state & PSR_MODE32_BIT;
}

// The element of `calls` of a call.
static inline u32 element(u32 number, int compat)
{
    if (compat)
        return number < COMPAT ? NATIVE + number : CALLS - 1;
    if (number < NATIVE)
        return number;
    number ^= X32_BIT;
    return number < X32 ? NATIVE + COMPAT + number : CALLS - 1;
}

// Whether a task is in a system call that has not returned, by the registers with which it came into the kernel: the entry
// sets the result to -ENOSYS. An exception or interrupt stores the program's own register there, and an interrupt also
// makes the number negative.
static inline int is_calling(struct pt_regs *regs)
{
    return (s64)regs->ax == -38 && (s64)regs->orig_ax >= 0;
}

// For a task that is on this CPU, and in user mode as far as was seen.
static inline int in_unseen_call(void) { return EXITS_ALONE && is_calling(task_regs(current_task())); }

// Charges the time since the last event to what the task was doing on the CPU.
static inline void charge(struct task *t, u64 now)
{
    // An interrupt or a switch in the middle of one of these programs, which has taken its stamp before, has charged more already.
    if ((s64)(now - t->since) < 0)
        return;
    u64 ns = now - t->since;
    t->since = now;
    if (t->in_interrupt)
        add(INTERRUPT_NS, ns);
    else if (t->in_fault)
        t->fault_ns += ns;
    else if (t->mode == CALL && t->timing)
        t->call_ns += ns;
    else if (t->mode == CHILD)
        add(BIRTH_NS, ns);
    else  // also a call that is not timed or seen; a task that was found running is in user mode unless it shows otherwise
        t->user_ns += ns;
}

static inline struct tally *tally_of(u32 call) { return lookup(&calls, &call); }

static inline void add_result(struct tally *c, s64 result)
{
    c->count++;
    c->errors += result < 0 && result >= -4095;
    c->one_byte += result == 1;
}

// A call is over of which only the exit was seen, and what a switch showed; or the task is.
INLINE void count_unseen(struct task *t, struct task_struct *p, s64 number, s64 result)
{
    int compat = is_compat(p, 0);
    struct tally *c = tally_of(number >= 0 ? element((u32)number, compat) : compat ? COMPAT_SIGRETURN : SIGRETURN);
    if (!c)
        return;
    add_result(c, result);
    c->unseen++;
    if (t->mode == UNSEEN)
        c->off += t->call_off;
}

// The call is over, or the task is.
INLINE void count_call(struct task *t, s64 result)
{
    struct tally *c = tally_of(t->call);
    if (!c)
        return;
    add_result(c, result);
    c->off += t->call_off;
    if (t->timing == TIMED) {
        c->ns += t->call_ns;
    } else if (t->timing == IN_WINDOW) {
        c->windowed++;
        c->windowed_ns += t->call_ns;
    } else {
        c->others++;
        if (t->timing == SAMPLED) {
            u64 coarse = t->call_ns >> 6;
            c->sampled++;
            c->sampled_ns += t->call_ns;
            c->squares += coarse * coarse;
        }
    }
    struct places *at = WALK ? places_of(t->tid) : 0;
    if (at)
        count_site(at, &at->call, t->call, t->call_ns, t->timing);
}

// An execution by another thread than the first takes the number of that one, long before it is reported.
static inline void note_executor(struct task *t, struct task_struct *p)
{
    if (t->call != EXECVE && t->call != EXECVEAT && t->call != COMPAT_EXECVE && t->call != COMPAT_EXECVEAT)
        return;
    struct task *first = p->pid != p->tgid ? slot_of(p->tgid) : 0;
    if (first)
        first->executor = t->tid;
}

SEC("raw_tp/sys_enter") int sys_enter(u64 *args)
{
    struct task *t = current();
    if (!t)
        return 0;
    struct task_struct *p = current_task();
    t->call = element((u32)args[1], is_compat(p, (struct pt_regs *)args[0]));
    if (t->mode == BORN)
        return 0;
    note_executor(t, p);
    // Before the time stamp, so that the call does not contain the walk.
    struct places *at = WALK ? places_of(t->tid) : 0;
    if (at)
        walk(t, args, args[0], &at->call);
    struct tally *c = tally_of(t->call);
    u8 timing = TIMED;
    if (windows) {
        timing = IN_WINDOW;
    } else if (c && c->count >= ALWAYS) {
        t->random = t->random * 1664525 + 1013904223;
        timing = t->random < IN_EIGHT ? SAMPLED : UNTIMED;
    }
    if (timing || t->in_fault)
        charge(t, now_ns());
    t->timing = timing;
    t->in_fault = 0;
    t->mode = CALL;
    t->call_ns = t->call_off = 0;
    return 0;
}

SEC("tp_btf/sys_exit") int sys_exit(u64 *args)
{
    struct cpu *here = this_cpu();
    struct task *t = task_on(here);
    if (!t || t->mode == BORN)
        return 0;
    if (here)
        here->calls++;
    if (t->mode == CALL) {
        if (t->timing || t->in_fault)
            charge(t, now_ns());
        count_call(t, (s64)args[1]);
    } else if (t->mode == USER || t->mode == UNSEEN) {
        if (t->in_fault)
            charge(t, now_ns());
        if (EXITS_ALONE)
            count_unseen(t, current_task(), ((struct pt_regs *)args[0])->orig_ax, (s64)args[1]);
    } else {
        charge(t, now_ns());
    }
    t->in_fault = 0;  // a fault that failed has no end of its own
    t->mode = USER;
    return 0;
}

SEC("tp_btf/sched_switch") int sched_switch(u64 *args)
{
    struct task_struct *prev = (void *)args[1], *next = (void *)args[2];
    u64 now = 0;
    struct task *t = slot_at(prev);
    if (t) {
        now = now_ns();
        if (t->off)
            resume_hidden(t, prev, now);
        struct pt_regs *regs = EXITS_ALONE ? task_regs(prev) : 0;
        int calls = regs && is_calling(regs);
        if (calls && t->mode == USER && args[3] && !t->in_fault) {
            t->mode = UNSEEN;
            t->call = element((u32)regs->orig_ax, is_compat(prev, 0));
            t->call_off = 0;
            note_executor(t, prev);
        }
        if (regs && !calls && t->mode == UNKNOWN)
            t->mode = USER;
        if (t->mode != BORN) {
            charge(t, now);
            add(CPU_NS, now - t->on_since);
            add(USER_NS, t->user_ns);
            t->user_ns = 0;
            add(args[3] && !args[0] ? VOLUNTARY : INVOLUNTARY, 1);
            if ((t->mode == CALL || t->mode == UNSEEN) && args[3]) {
                struct tally *c = tally_of(t->call);
                if (c)
                    c->switches++;
            }
        } else {
            add(BEFORE_NS, now - t->on_since);
        }
        t->off = args[3] ? OFF_WAITS : OFF_READY;
        t->cpu = cpu_number();
        t->ran = prev->se.sum_exec_runtime;
        struct cpu *here = this_cpu();
        if (here)
            here->clock = now - prev->se.exec_start;
        if (args[3] & 0x80) {  // TASK_DEAD
            if (t->mode == CALL)
                count_call(t, 0);
            else if (calls && (t->mode == USER || t->mode == UNSEEN))
                count_unseen(t, prev, regs->orig_ax, 0);
            add(ENDED, 1);
            add(RAN_NS, prev->se.sum_exec_runtime - t->base_ran);
            add(SWITCHES, (u32)(prev->nvcsw + prev->nivcsw) - t->base_switches);
            add(FAULT_ACCOUNTS, (u32)(prev->min_flt + prev->maj_flt) - t->base_faults);
            t->tid = 0;
        }
    }
    t = slot_at(next);
    set_running(t ? t->tid : 0);
    if (t) {
        if (!now)
            now = now_ns();
        if (t->mode == BORN)
            t->ran = next->se.sum_exec_runtime;
        resume(t, now);
    }
    return 0;
}

// Faults begin at the exception and end with the kernel's own software event. Between them the kernel reports which pages it
// maps. A fault that ends in a signal in place of the event was refused.
INLINE int fault_entry(u64 *args, int from_user)
{
    struct task *t = current();
    if (!t || t->mode == BORN || t->walking)
        return 0;
    struct places *at = WALK ? places_of(t->tid) : 0;
    if (at && from_user)
        walk(t, args, args[1], &at->fault);
    else if (at)
        at->fault = at->call;
    charge(t, now_ns());
    t->in_fault = 1;
    t->code = (u8)args[2];
    t->mapped = 0;
    t->fault_ns = t->fault_off = 0;
    return 0;
}

SEC("raw_tp/page_fault_user") int page_fault_user(u64 *args) { return fault_entry(args, 1); }
SEC("raw_tp/page_fault_kernel") int page_fault_kernel(u64 *args) { return fault_entry(args, 0); }

SEC("raw_tp/rss_stat") int rss_stat(u64 *args)
{
    struct task *t = current();
    if (t)
        t->mapped |= 1 << (args[1] & 3);
    return 0;
}

SEC("raw_tp/mm_page_alloc") int page_alloc(u64 *args)
{
    if ((u32)args[1] != HUGE_ORDER)
        return 0;
    struct task *t = current();
    if (t)
        t->mapped |= HUGE_PAGE;
    return 0;
}

static inline int fault_exit(u32 major)
{
    struct task *t = current();
    if (!t || t->mode == BORN)
        return 0;
    charge(t, now_ns());
    t->in_fault = 0;
    u32 kind = ANONYMOUS;
    if (major)
        kind = MAJOR;
    else if (t->mapped & HUGE_PAGE)
        kind = HUGE;
    else if ((t->code & 3) == 3)  // present, write
        kind = COPY_ON_WRITE;
    else if (t->mapped & (FILE_PAGES | SHMEM_PAGES))
        kind = FILE_MINOR;
    else if (!(t->mapped & ANON_PAGES))
        kind = ZERO_PAGE;
    struct tally *f = lookup(&faults, &kind);
    if (f) {
        f->count++;
        f->ns += t->fault_ns;
        f->off += t->fault_off;
    }
    struct places *at = WALK ? places_of(t->tid) : 0;
    if (at)
        count_site(at, &at->fault, IS_FAULT | kind, t->fault_ns, TIMED);
    t->fault_ns = t->fault_off = 0;
    return 0;
}

SEC("perf_event/minor") int fault_minor(void *context) { return fault_exit(0); }
SEC("perf_event/major") int fault_major(void *context) { return fault_exit(1); }

static inline void count_signal(u64 number)
{
    u32 signal = number < SIGNALS ? (u32)number : 0;
    u64 *count = lookup(&signals, &signal);
    if (count)
        *count += 1;
}

// The kernel ends the threads of a process by SIGKILLs of its own, without information: at exit_group, at execve, and at a
// signal that kills, which never arrives under its own name. That one shows where it was sent: it has set the status of the process.
SEC("tp_btf/signal_generate") int signal_generate(u64 *args)
{
    struct task_struct *p = (void *)args[2];
    struct task *t = task_of(p->pid);
    if (!t)
        t = task_of(p->signal->curr_target->pid);
    if (t && t->mode != BORN && args[4] == SIGNAL_DELIVERED && p->signal->flags & SIGNAL_GROUP_EXIT
        && p->signal->group_exit_code == (s32)args[0])
        count_signal(args[0]);
    return 0;
}

SEC("raw_tp/signal_deliver") int signal_deliver(u64 *args)
{
    struct task *t = current();
    if (!t || t->mode == BORN)
        return 0;
    if (args[0] != SIGKILL || args[1])
        count_signal(args[0]);
    if (t->in_fault) {
        charge(t, now_ns());
        t->in_fault = 0;
        u32 kind = PROTECTION;
        struct tally *f = lookup(&faults, &kind);
        if (f) {
            f->count++;
            f->ns += t->fault_ns;
        }
        struct places *at = WALK ? places_of(t->tid) : 0;
        if (at)
            count_site(at, &at->fault, IS_FAULT | kind, t->fault_ns, TIMED);
    }
    return 0;
}

SEC("tp_btf/sched_waking") int sched_waking(u64 *args)
{
    struct task *t = current();
    // Only in a call: what an interrupt wakes is not the work of the task that it interrupts.
    if (!t || t->in_interrupt)
        return 0;
    if (t->mode != CALL && t->mode != UNSEEN && !(t->mode == USER && !t->in_fault && in_unseen_call()))
        return 0;
    struct task_struct *woken = (void *)args[0];
    add(woken->thread_info.cpu == cpu_number() ? WOKEN_HERE : WOKEN_THERE, 1);
    return 0;
}

SEC("tp_btf/sched_process_fork") int process_fork(u64 *args)
{
    struct task_struct *parent = (void *)args[0], *child = (void *)args[1];
    struct task *t = current();
    if (!t || t->mode == BORN)
        return 0;
    struct task *made = slot_of(child->pid);
    if (!made || made->tid) {
        add(LOST, 1);
        return 0;
    }
    __builtin_memset(made, 0, sizeof *made);
    made->mode = CHILD;
    made->off = OFF_WAITS;
    made->tid = child->pid;
    made->who = (u64)child;
    struct places *at = WALK ? places_of(t->tid) : 0, *there = WALK ? places_of(child->pid) : 0;
    if (at && there)
        there->image = at->image;
    add(child->tgid == parent->tgid ? THREADS : PROCESSES, 1);
    return 0;
}

SEC("tp_btf/sched_process_exec") int process_exec(u64 *args)
{
    struct task_struct *p = (void *)args[0];
    u32 before = (u32)args[1], tid = p->pid;
    struct task *t = task_of(before);
    if (!t)
        return 0;
    if (t->mode == BORN) {
        // The command begins here, in the middle of this call.
        u64 now = now_ns();
        // The kernel accounts at the next tick or switch what it has run until now.
        t->base_ran = t->ran + (now - t->on_since);
        add(BEFORE_NS, now - t->on_since);
        t->mode = CALL;
        t->timing = TIMED;
        t->since = t->on_since = now;
        t->who = (u64)p;
        t->base_switches = p->nvcsw + p->nivcsw;
        t->base_faults = p->min_flt + p->maj_flt;
    }
    if (t->mode == USER)
        t->mode = UNSEEN;
    if (before != tid) {
        // A thread has taken the number of the first one, which may still be on its last way out, with the other number.
        struct task *first = slot_of(tid);
        if (first) {
            struct task ended = *first;
            *first = *t;
            first->tid = tid;
            *t = ended;
            t->tid = ended.tid == tid ? before : 0;
        }
        set_running(tid);
    }
    struct places *at = WALK ? places_of(before) : 0, *there = WALK ? places_of(tid) : 0;
    if (at && there) {
        u32 image = at->image + 1;
        *there = *at;
        there->image = image;
    }
    add(EXECS, 1);
    return 0;
}

static inline int interrupt_entry(void)
{
    struct task *t = current();
    if (!t || t->mode == BORN || t->in_interrupt)
        return 0;
    if (EXITS_ALONE && t->mode == UNKNOWN && !in_unseen_call())
        t->mode = USER;
    charge(t, now_ns());
    t->in_interrupt = 1;
    add(INTERRUPTS, 1);
    return 0;
}

static inline int interrupt_exit(void)
{
    struct task *t = current();
    if (!t || !t->in_interrupt)
        return 0;
    charge(t, now_ns());
    t->in_interrupt = 0;
    return 0;
}

SEC("raw_tp/irq_handler_entry") int irq_entry(u64 *args) { return interrupt_entry(); }
SEC("raw_tp/irq_handler_exit") int irq_exit(u64 *args) { return interrupt_exit(); }
SEC("raw_tp/local_timer_entry") int timer_entry(u64 *args) { return interrupt_entry(); }
SEC("raw_tp/local_timer_exit") int timer_exit(u64 *args) { return interrupt_exit(); }

char LICENSE[] SEC("license") = "Dual MIT/GPL";
