// The C library of bare programs: what is in stdio.h, stdlib.h, string.h and unistd.h, as far as it goes.
// No floating point in printf, no files, no signals; malloc never frees.
#ifndef TOLLGATE_H
#define TOLLGATE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define EOF (-1)
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1

#ifdef __cplusplus
extern "C" {
#endif

int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int vprintf(const char *format, va_list args);
int sprintf(char *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
int snprintf(char *to, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int vsnprintf(char *to, size_t size, const char *format, va_list args);
int puts(const char *text);
int putchar(int byte);

void exit(int status) __attribute__((noreturn));
void _exit(int status) __attribute__((noreturn));
void abort(void) __attribute__((noreturn));
void *malloc(size_t size);
void free(void *memory);
int abs(int value);
int atoi(const char *text);
int rand(void);
void srand(unsigned seed);

void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t size);
char *strcpy(char *to, const char *from);
char *strncpy(char *to, const char *from, size_t size);
char *strcat(char *to, const char *from);
char *strchr(const char *text, int byte);

// System calls: an ecall with Linux's numbers. write, exit, getpid and getuid are answered, others with -38 (ENOSYS).
long syscall(long number, ...);
long write(int file, const void *bytes, size_t size);
int getpid(void);
int getuid(void);

#ifdef __cplusplus
}
#endif

#endif
