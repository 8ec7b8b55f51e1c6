/* The object for LD_PRELOAD: its imaxabs takes the place of the C library's, counts and calls that. */

void *dlsym(void *handle, const char *symbol);

/* The next object in the order of the search (RTLD_NEXT of the GNU C library). */
#define NEXT ((void *)-1L)

unsigned long interposed_calls;
static long (*next)(long);

__attribute__((constructor)) static void find(void)
{
    next = dlsym(NEXT, "imaxabs");
}

long imaxabs(long value)
{
    interposed_calls++;
    return next(value);
}
