"""Writes the C source of the module that cffi makes for callee.c."""

import cffi

DECLARED = """
extern uint64_t entered, copied;
extern const char *handed;
void down(void);
int64_t down_eight(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
size_t down_text(const char *text, size_t length);
void back(void (*callee)(void));
void up(uint64_t calls, void (*callee)(void));
void up_eight(uint64_t, int64_t (*)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t));
void up_text(uint64_t calls, void (*callee)(const char *), const char *text);
extern "Python" void callee(void);
extern "Python" int64_t callee_eight(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
extern "Python" void callee_text(const char *);
"""

ffi = cffi.FFI()
ffi.cdef(DECLARED)
ffi.set_source("cffi_callee", '#include "callee.c"')
ffi.emit_c_code("cffi_callee.c")
