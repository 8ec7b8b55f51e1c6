/* A dynamically linked program that calls imaxabs of the C library as often as its standard input says.

   It starts without the C library's start-up code, so that its bytes depend on the compiler only. Each order is a number of
   eight bytes; each answer the sum of the results, which are 1, and the number of calls that a preloaded object has counted
   since the start. The program ends with its input. */

long imaxabs(long value);
long read(int descriptor, void *bytes, unsigned long size);
long write(int descriptor, const void *bytes, unsigned long size);
_Noreturn void _exit(int status);

/* Of the preloaded object. */
extern unsigned long interposed_calls __attribute__((weak));

#ifdef __x86_64__
/* At the entry the stack is aligned as in front of a call, not behind one (System V ABI, x86-64 supplement, 3.4.1). */
__attribute__((force_align_arg_pointer))
#endif
_Noreturn void _start(void)
{
    unsigned long order;
    while (read(0, &order, sizeof order) == sizeof order) {
        unsigned long sum = 0, left = order;
#pragma GCC unroll 16
        for (; left > 0; left--)
            sum += imaxabs(-1);
        unsigned long answer[2] = {sum, &interposed_calls ? interposed_calls : 0};
        if (write(1, answer, sizeof answer) != sizeof answer)
            break;
    }
    _exit(0);
}
