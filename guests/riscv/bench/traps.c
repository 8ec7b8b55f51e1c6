// A storm of traps: a program in U-mode makes system calls, and now and then a page fault, and does little between them.
typedef unsigned long word;
typedef unsigned int u32;

#if __riscv_xlen == 32
#define LOAD "lw"
#define STORE "sw"
#define SIZE "4"
#else
#define LOAD "ld"
#define STORE "sd"
#define SIZE "8"
#endif

// Where U-mode sees memory, which it may not use at its own address (start.S).
enum { ALIAS = 0x40000000, UNMAPPED = 0x10000000 };
enum { FIRST_ARGUMENT = 8, NUMBER = 15, EXIT = 7 };

static word user_stack[512] __attribute__((aligned(16)));
static word faults, total;
static word kernel_stack __attribute__((used));

static word add(word x) { return total += x; }
static word flip(word x) { return total ^= x << 3; }
static word count(word x) { return x + faults; }
static word number(word x) { return x & 1 ? 42 : 43; }

static word (*const calls[4])(word) = {add, flip, count, number};

__attribute__((naked, noreturn)) static void leave(word result __attribute__((unused))) {
    asm(LOAD " sp, kernel_stack\n " LOAD " ra, 0(sp)\n addi sp, sp, 16\n ret");
}

// Handles a trap and gives where the program continues.
__attribute__((used)) static word trap(word cause, word pc, word *registers) {
    if (cause != 8) {
        faults++;
        return pc + 4;
    }
    if (registers[NUMBER] == EXIT)
        leave(registers[FIRST_ARGUMENT]);
    registers[FIRST_ARGUMENT] = calls[registers[NUMBER] & 3](registers[FIRST_ARGUMENT]);
    return pc + 4;
}

#define AT(place) ", " #place "*" SIZE "(sp)\n"
#define ALL(op)                                                                                                        \
    op " ra" AT(0) op " t0" AT(1) op " t1" AT(2) op " t2" AT(3)                                                        \
    op " t3" AT(4) op " t4" AT(5) op " t5" AT(6) op " t6" AT(7)                                                        \
    op " a0" AT(8) op " a1" AT(9) op " a2" AT(10) op " a3" AT(11)                                                      \
    op " a4" AT(12) op " a5" AT(13) op " a6" AT(14) op " a7" AT(15)

__attribute__((naked, aligned(4))) static void handler(void) {
    asm("csrrw sp, sscratch, sp\n addi sp, sp, -128\n" ALL(STORE) "csrr a0, scause\n csrr a1, sepc\n mv a2, sp\n"
        "call trap\n csrw sepc, a0\n" ALL(LOAD) "addi sp, sp, 128\n csrrw sp, sscratch, sp\n sret");
}

// Runs a program in U-mode until it exits. It may use all registers: the caller expects none of them.
__attribute__((naked)) static word enter(word pc __attribute__((unused)), word sp __attribute__((unused))) {
    asm("addi sp, sp, -16\n " STORE " ra, 0(sp)\n la t0, kernel_stack\n " STORE " sp, 0(t0)\n"
        "addi t0, sp, -256\n csrw sscratch, t0\n li t0, 0x100\n csrc sstatus, t0\n csrw sepc, a0\n mv sp, a1\n sret");
}

static inline word call(word number, word argument) {
    register word a0 asm("a0") = argument;
    register word a7 asm("a7") = number;
    asm volatile("ecall" : "+r"(a0) : "r"(a7) : "memory");
    return a0;
}

__attribute__((noinline, noreturn)) static void user(void) {
    word sum = 1;
    for (u32 round = 0; round < ROUNDS; round++) {
        sum = call(round & 3, sum ^ round);
        for (u32 i = round & 7; i; i--)
            sum += sum >> 5;
        if ((round & 7) == 0) {
            word loaded = round;
            asm volatile(".option push\n.option norvc\n" LOAD " %0, 0(%1)\n.option pop" : "+r"(loaded) : "r"((word)UNMAPPED));
            sum += loaded;
        }
    }
    call(EXIT, sum);
    __builtin_unreachable();
}

word main(void) {
    asm volatile("csrw stvec, %0" : : "r"((word)handler));
    return enter((word)user + ALIAS, (word)(user_stack + 512) + ALIAS);
}
