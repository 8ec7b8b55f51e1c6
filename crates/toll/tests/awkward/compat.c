// A program of the 32-bit ABI without a C library: 1,000 getppid (64), 300 getuid32 (199), and its end.
static long call(long number, long first)
{
    long result;
#if defined(__i386__)
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(first) : "memory");
#else
#error the 32-bit ABI of this architecture is not known here
#endif
    return result;
}

void _start(void)
{
    for (int i = 0; i < 1000; i++)
        call(64, 0);
    for (int i = 0; i < 300; i++)
        call(199, 0);
    call(252, 0);
}
