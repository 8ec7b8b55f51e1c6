// A storm of traps: a program in U-mode makes system calls, and now and then a page fault, and does little between them.
typedef unsigned long u64;
typedef unsigned int u32;

// Where U-mode sees memory, which it may not use at its own address (start.S).
enum { ALIAS = 0x40000000, UNMAPPED = 0x10000000 };
enum { FIRST_ARGUMENT = 8, NUMBER = 15, EXIT = 7 };

static u64 user_stack[512] __attribute__((aligned(16)));
static u64 faults, total;
static u64 kernel_stack __attribute__((used));

static u64 add(u64 x) { return total += x; }
static u64 flip(u64 x) { return total ^= x << 3; }
static u64 count(u64 x) { return x + faults; }
static u64 number(u64 x) { return x & 1 ? 42 : 43; }

static u64 (*const calls[4])(u64) = {add, flip, count, number};

__attribute__((naked, noreturn)) static void leave(u64 result __attribute__((unused))) {
    asm("ld sp, kernel_stack\n ld ra, 0(sp)\n addi sp, sp, 16\n ret");
}

// Handles a trap and gives where the program continues.
__attribute__((used)) static u64 trap(u64 cause, u64 pc, u64 *registers) {
    if (cause != 8) {
        faults++;
        return pc + 4;
    }
    if (registers[NUMBER] == EXIT)
        leave(registers[FIRST_ARGUMENT]);
    registers[FIRST_ARGUMENT] = calls[registers[NUMBER] & 3](registers[FIRST_ARGUMENT]);
    return pc + 4;
}

#define ALL(op)                                                                                                        \
    op " ra, 0(sp)\n" op " t0, 8(sp)\n" op " t1, 16(sp)\n" op " t2, 24(sp)\n" op " t3, 32(sp)\n" op " t4, 40(sp)\n" op \
       " t5, 48(sp)\n" op " t6, 56(sp)\n" op " a0, 64(sp)\n" op " a1, 72(sp)\n" op " a2, 80(sp)\n" op " a3, 88(sp)\n"  \
    op " a4, 96(sp)\n" op " a5, 104(sp)\n" op " a6, 112(sp)\n" op " a7, 120(sp)\n"

__attribute__((naked, aligned(4))) static void handler(void) {
    asm("csrrw sp, sscratch, sp\n addi sp, sp, -128\n" ALL("sd") "csrr a0, scause\n csrr a1, sepc\n mv a2, sp\n"
        "call trap\n csrw sepc, a0\n" ALL("ld") "addi sp, sp, 128\n csrrw sp, sscratch, sp\n sret");
}

// Runs a program in U-mode until it exits. It may use all registers: the caller expects none of them.
__attribute__((naked)) static u64 enter(u64 pc __attribute__((unused)), u64 sp __attribute__((unused))) {
    asm("addi sp, sp, -16\n sd ra, 0(sp)\n la t0, kernel_stack\n sd sp, 0(t0)\n"
        "addi t0, sp, -256\n csrw sscratch, t0\n li t0, 0x100\n csrc sstatus, t0\n csrw sepc, a0\n mv sp, a1\n sret");
}

static inline u64 call(u64 number, u64 argument) {
    register u64 a0 asm("a0") = argument;
    register u64 a7 asm("a7") = number;
    asm volatile("ecall" : "+r"(a0) : "r"(a7) : "memory");
    return a0;
}

__attribute__((noinline, noreturn)) static void user(void) {
    u64 sum = 1;
    for (u32 round = 0; round < ROUNDS; round++) {
        sum = call(round & 3, sum ^ round);
        for (u32 i = round & 7; i; i--)
            sum += sum >> 5;
        if ((round & 7) == 0) {
            u64 word = round;
            asm volatile(".option push\n.option norvc\nld %0, 0(%1)\n.option pop" : "+r"(word) : "r"((u64)UNMAPPED));
            sum += word;
        }
    }
    call(EXIT, sum);
    __builtin_unreachable();
}

u64 main(void) {
    asm volatile("csrw stvec, %0" : : "r"((u64)handler));
    return enter((u64)user + ALIAS, (u64)(user_stack + 512) + ALIAS);
}
