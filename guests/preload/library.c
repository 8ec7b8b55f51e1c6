/* What the linker needs of the C library: names without versions, which any GNU C library resolves. Never run. */

unsigned long interposed_calls;
void imaxabs(void) {}
void read(void) {}
void write(void) {}
void _exit(void) {}
void dlsym(void) {}
