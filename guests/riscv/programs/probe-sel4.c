// image: probe-sel4 linux -Wl,-N
// The root task of an seL4, whose crossings are billed (crates/lab/src/kernel/sel4.rs); probe.c says what marks are. It makes a
// thread for the other side of each crossing, then yields until the host has written into `asked` which ones to make.
//
// The interface is that of seL4 without MCS on one hart, for RV64: the reference manual's chapters 2 (system calls), 4 (messages), 6
// (threads, faults), 7 (address spaces) and 9 (boot). Headers of libsel4 are cited for numbers that the manual does not have.
#include "../user/lib.h"

// The crossings, in the order of `SEL4` in crates/lab/src/kernel/crossings.rs, behind those of Linux.
enum { END, TICK = 13, YIELD = 15, CALL_PROCESS, REPLY_PROCESS, CALL_THREAD, REPLY_THREAD, CALL_SLOW, NOTIFY, FAULT, FAULT_REPLY,
       FAULT_PAGE };
enum { DONE = 99, WARM = 200, EVICTED = 12, LINE = 64, PAGE = 4096, MEMORY = 256 << 10, STACK = 1024, HELPERS = 9 };
// Ticks of 2 ms come 8 times, of the 10 MHz of the machine's time.
enum { SPIN = 8 * 20000 };

// System calls: libsel4/include/api/syscall.xml.
enum { CALL = -1, REPLY_RECV = -2, SEND = -3, RECV = -5, YIELD_CALL = -7 };
// Capabilities of the root task: manual, 9.1 and sel4/bootinfo_types.h.
enum { OWN_TCB = 1, OWN_CNODE = 2, OWN_SPACE = 3, ASID_POOL = 6, OWN_BUFFER = 10 };
// Objects: sel4/objecttype.h and those of riscv and riscv64.
enum { TCB = 1, ENDPOINT = 2, NOTIFICATION = 3, FRAME = 6, PAGE_TABLE = 8 };
// Methods: libsel4/include/interfaces/object-api.xml numbers them from 1 on, then those of object-api-arch.xml of riscv.
// Releases add methods, so that CNode_Copy and PageTable_Map are later ones.
enum { UNTYPED_RETYPE = 1, TCB_WRITE_REGISTERS = 3, TCB_CONFIGURE = 5, TCB_SET_PRIORITY = 6, TCB_SET_SPACE = 10,
       CNODE_COPY = 19, PAGE_TABLE_MAP = 30, LAST = 40, PAGE_MAP_AFTER = 2, PAGE_UNMAP_AFTER = 3, ASSIGN_AFTER = 6 };
// sel4/errors.h.
enum { ILLEGAL_OPERATION = 3 };
// Rights to read and write, and all: sel4/shared_types.h.
enum { READ_WRITE = 3, ALL_RIGHTS = 15, WORD_BITS = 64 };
// 256 KiB, of which the objects take a quarter.
enum { ENOUGH_BITS = 18 };
enum { PRIORITY = 254, HELPER_PRIORITY = 255 };
// A page of the root task's last page table, where nothing is; and a part of its address space without page tables.
static volatile u8 *const UNMAPPED = (u8 *)0x1ff000;
enum { FAR = 1 << 30 };

// sel4/shared_types.h and sel4/bootinfo_types.h.
struct buffer { u64 tag, words[120], user, caps[3]; };
struct region { u64 start, end; };
struct boot {
    u64 extra, node, nodes, levels;
    struct buffer *buffer;
    struct region empty, shared, frames, paging, io, extra_pages;
    u64 cnode_bits, domain;
    struct region untyped;
    struct { u64 address; u8 bits, is_device, padding[6]; } untypeds[];
};

#define MARK(kind) __asm__ volatile("slti zero, zero, %0" ::"i"(kind) : "memory")

// Set by the host: bit n is crossing n. `failed` is for the host: the line of the call that failed, and the kernel's error.
volatile u64 asked;
volatile u64 failed[2];

static u8 memory[MEMORY], stack[4 * STACK] __attribute__((aligned(16)));
static struct buffer *buffer;
static u64 next_slot, untyped, page_table_map = PAGE_TABLE_MAP, cnode_copy = CNODE_COPY;

static u64 ipc(long number, u64 cap, u64 info, u64 *words) {
    register u64 a0 __asm__("a0") = cap;
    register u64 a1 __asm__("a1") = info;
    register u64 a2 __asm__("a2") = words[0];
    register u64 a3 __asm__("a3") = words[1];
    register u64 a4 __asm__("a4") = words[2];
    register u64 a5 __asm__("a5") = words[3];
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3), "+r"(a4), "+r"(a5) : "r"(a7) : "memory");
    words[0] = a2;
    words[1] = a3;
    words[2] = a4;
    words[3] = a5;
    return a1;
}

static void yield(void) { system_call(YIELD_CALL, 0, 0, 0); }

// Capabilities or words of a message.
typedef struct { u64 n; const u64 *at; } list;
static const list NONE = {0, 0};

#define LIST(...) (list){sizeof((const u64[]){__VA_ARGS__}) / sizeof(u64), (const u64[]){__VA_ARGS__}}

// Invokes a method of an object; its error.
static u64 invoke(u64 cap, u64 method, list caps, list arguments) {
    u64 words[4] = {0, 0, 0, 0};
    for (u64 i = 0; i < caps.n; i++) buffer->caps[i] = caps.at[i];
    for (u64 i = 0; i < arguments.n; i++) (i < 4 ? words : buffer->words)[i] = arguments.at[i];
    return ipc(CALL, cap, method << 12 | caps.n << 7 | arguments.n, words) >> 12;
}

static void check(u64 error, u64 line) {
    if (error == 0 || failed[0] != 0) return;
    failed[0] = line;
    failed[1] = error;
}

#define NEED(...) check(invoke(__VA_ARGS__), __LINE__)

static u64 make(u64 type) {
    u64 slot = next_slot++;
    NEED(untyped, UNTYPED_RETYPE, LIST(OWN_CNODE), LIST(type, 0, 0, 0, slot, 1));
    return slot;
}

// The smallest part of memory that suffices, which the kernel clears first.
static void find_untyped(const struct boot *boot) {
    u64 least = WORD_BITS;
    for (u64 i = 0; i < boot->untyped.end - boot->untyped.start; i++) {
        u64 bits = boot->untypeds[i].bits;
        if (boot->untypeds[i].is_device || bits < ENOUGH_BITS || bits >= least) continue;
        least = bits;
        untyped = boot->untyped.start + i;
    }
}

// What this release calls PageTable_Map: lower numbers are methods of other objects.
static void find_methods(void) {
    u64 table = make(PAGE_TABLE), error;
    while ((error = invoke(table, page_table_map, LIST(OWN_SPACE), LIST(FAR, 0))) == ILLEGAL_OPERATION && page_table_map < LAST)
        page_table_map++;
    check(error, __LINE__);
}

// Maps a frame in another address space as well, by a capability of its own.
static void share(u64 frame, u64 space, u64 at) {
    u64 copy = next_slot++, error;
    while ((error = invoke(OWN_CNODE, cnode_copy, LIST(OWN_CNODE), LIST(copy, WORD_BITS, frame, WORD_BITS, ALL_RIGHTS))) ==
               ILLEGAL_OPERATION && cnode_copy < LAST)
        cnode_copy++;
    check(error, __LINE__);
    NEED(copy, page_table_map + PAGE_MAP_AFTER, LIST(space), LIST(at, READ_WRITE, 0));
}

// Another address space with this program and its message buffer, which is behind it.
static u64 make_space(const struct boot *boot) {
    u64 space = make(PAGE_TABLE), at = (u64)buffer - (boot->frames.end - boot->frames.start) * PAGE;
    NEED(ASID_POOL, page_table_map + ASSIGN_AFTER, LIST(space), NONE);
    for (int level = 0; level < 2; level++) NEED(make(PAGE_TABLE), page_table_map, LIST(space), LIST(at, 0));
    for (u64 frame = boot->frames.start; frame < boot->frames.end; frame++, at += PAGE) share(frame, space, at);
    share(OWN_BUFFER, space, at);
    return space;
}

// A thread with an argument and the root task's capabilities; it runs at once, until it waits.
static u64 start(void (*run)(u64), u64 argument, u64 space) {
    static u8 stacks[HELPERS][STACK] __attribute__((aligned(16)));
    static int helpers;
    u64 tcb = make(TCB), gp, top = (u64)stacks[helpers++] + STACK;
    __asm__("mv %0, gp" : "=r"(gp));
    NEED(tcb, TCB_CONFIGURE, LIST(OWN_CNODE, space, OWN_BUFFER), LIST(0, 0, 0, (u64)buffer));
    NEED(tcb, TCB_SET_PRIORITY, LIST(OWN_TCB), LIST(HELPER_PRIORITY));
    // pc, ra, sp, gp, s0 to s11, a0: sel4/arch/types.h of riscv.
    NEED(tcb, TCB_WRITE_REGISTERS, NONE,
         LIST(1, 17, (u64)run, 0, top, gp, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, argument));
    return argument;
}

static void evict(int i) {
    if (i < WARM) return;
    for (u64 at = 0; at < sizeof memory; at += LINE) *(volatile u8 *)&memory[at];
}

#define TIMES for (int i = 0; evict(i), i < WARM + EVICTED; i++)

// The crossing ends where the message arrives.
static void receive(u64 endpoint) {
    u64 words[4] = {0, 0, 0, 0};
    for (ipc(RECV, endpoint, 0, words);; ipc(REPLY_RECV, endpoint, 0, words)) MARK(END);
}

static void wait(u64 notification) {
    u64 words[4] = {0, 0, 0, 0};
    for (ipc(RECV, notification, 0, words);; ipc(RECV, notification, 0, words)) MARK(END);
}

// The message of an exception begins with the pc, and so does the reply: it skips the instruction.
static void skip(u64 endpoint) {
    u64 words[4] = {0, 0, 0, 0};
    for (ipc(RECV, endpoint, 0, words);; ipc(REPLY_RECV, endpoint, 1, words)) {
        MARK(END);
        words[0] += 4;
    }
}

static u64 touched;

static void map(u64 endpoint) {
    u64 words[4] = {0, 0, 0, 0};
    for (ipc(RECV, endpoint, 0, words);; ipc(REPLY_RECV, endpoint, 0, words)) {
        MARK(END);
        invoke(touched, page_table_map + PAGE_MAP_AFTER, LIST(OWN_SPACE), LIST((u64)UNMAPPED, READ_WRITE, 0));
    }
}

// The crossing begins with the reply.
#define REPLIES(name, kind, n, change)                 \
    static void name(u64 endpoint) {                   \
        u64 words[4] = {0, 0, 0, 0};                   \
        ipc(RECV, endpoint, 0, words);                 \
        for (int i = 0;; i++) {                        \
            change;                                    \
            evict(i);                                  \
            MARK(kind);                                \
            ipc(REPLY_RECV, endpoint, n, words);       \
        }                                              \
    }

REPLIES(reply_process, REPLY_PROCESS, 0, )
REPLIES(reply_thread, REPLY_THREAD, 0, )
REPLIES(reply_fault, FAULT_REPLY, 1, words[0] += 4)

#define SENDS(kind, call, cap, n)          \
    TIMES {                                \
        u64 words[4] = {0, 0, 0, 0};       \
        MARK(kind);                        \
        ipc(call, cap, n, words);          \
    }
#define ANSWERED(cap)                                  \
    for (int i = 0; i < WARM + EVICTED; i++) {         \
        u64 words[4] = {0, 0, 0, 0};                   \
        ipc(CALL, cap, 0, words);                      \
        MARK(END);                                     \
    }

// unimp: 4 bytes.
static inline void except(void) { __asm__ volatile(".4byte 0xc0001073" ::: "memory"); }

static void faults_to(u64 endpoint) { NEED(OWN_TCB, TCB_SET_SPACE, LIST(OWN_CNODE, OWN_SPACE), LIST(endpoint, 0, 0)); }

static int is_asked(int kind) { return asked >> kind & 1; }

static u64 now(void) {
    u64 time;
    __asm__ volatile("rdtime %0" : "=r"(time));
    return time;
}

__attribute__((used, noreturn)) static void root(const struct boot *boot) {
    buffer = boot->buffer;
    next_slot = boot->empty.start;
    // Pages of their own lines.
    for (u64 i = 0; i < sizeof memory; i += PAGE) memory[i] = 1;
    find_untyped(boot);
    find_methods();
    u64 space = make_space(boot);
    touched = make(FRAME);
    NEED(OWN_TCB, TCB_SET_PRIORITY, LIST(OWN_TCB), LIST(PRIORITY));
    u64 to_process = start(receive, make(ENDPOINT), space), from_process = start(reply_process, make(ENDPOINT), space);
    u64 to_thread = start(receive, make(ENDPOINT), OWN_SPACE), from_thread = start(reply_thread, make(ENDPOINT), OWN_SPACE);
    u64 slow = start(receive, make(ENDPOINT), space), notification = start(wait, make(NOTIFICATION), space);
    u64 skips = start(skip, make(ENDPOINT), space), replies = start(reply_fault, make(ENDPOINT), space);
    u64 maps = start(map, make(ENDPOINT), space);
    while (!asked) yield();
    // Who watches waits for this one.
    for (int i = 0; i < 1000; i++) yield();

    if (is_asked(YIELD)) TIMES {
        MARK(YIELD);
        yield();
        MARK(END);
    }
    if (is_asked(CALL_PROCESS)) SENDS(CALL_PROCESS, CALL, to_process, 0);
    if (is_asked(REPLY_PROCESS)) ANSWERED(from_process);
    if (is_asked(CALL_THREAD)) SENDS(CALL_THREAD, CALL, to_thread, 0);
    if (is_asked(REPLY_THREAD)) ANSWERED(from_thread);
    // More words than registers for them.
    if (is_asked(CALL_SLOW)) SENDS(CALL_SLOW, CALL, slow, 5);
    if (is_asked(NOTIFY)) SENDS(NOTIFY, SEND, notification, 0);
    faults_to(skips);
    if (is_asked(FAULT)) TIMES {
        MARK(FAULT);
        except();
    }
    faults_to(replies);
    if (is_asked(FAULT_REPLY)) for (int i = 0; i < WARM + EVICTED; i++) {
        except();
        MARK(END);
    }
    faults_to(maps);
    if (is_asked(FAULT_PAGE)) TIMES {
        MARK(FAULT_PAGE);
        *UNMAPPED;
        invoke(touched, page_table_map + PAGE_UNMAP_AFTER, NONE, NONE);
    }
    if (is_asked(TICK)) {
        // Each interrupt between the marks is a crossing.
        MARK(TICK);
        for (u64 end = now() + SPIN; now() < end;) {
        }
        MARK(END);
    }
    MARK(DONE);
    for (;;) {
    }
}

// The kernel passes the boot information in a0, and no stack.
__attribute__((naked)) int main(void) {
    __asm__("la sp, %0 + %1\n j root" ::"i"(stack), "i"(sizeof stack));
}
