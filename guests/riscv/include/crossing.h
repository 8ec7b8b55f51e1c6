// Marks the crossings of a first process of your own, for `tollgate riscv bill --probe`: in C and in assembly.
// A mark is an instruction without effect, one of RISC-V's hints for custom use. The crossing is from the first trap behind
// CROSSING_BEGINS to the return from the last one before CROSSING_ENDS. The number, from 1 to 98, says of which kind it is.
#ifdef __ASSEMBLER__
#define CROSSING_BEGINS(number) slti zero, zero, number
#else
#define CROSSING_BEGINS(number) __asm__ volatile("slti zero, zero, %0" ::"i"(number) : "memory")
#endif
#define CROSSING_ENDS() CROSSING_BEGINS(0)
