// Declarations that the C files of the kernel share.
#ifndef TOLL_KERNEL_H
#define TOLL_KERNEL_H

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long u64;

// The physical map, the same on all engines. RAM: kernel, user program, two private user pages, 2 MiB each.
#define CLINT_MSIP 0x2000000UL
#define CLINT_MTIMECMP 0x2004000UL
#define CLINT_MTIME 0x200bff8UL
#define UART 0x10000000UL
#define FINISHER 0x100000UL
#define KERNEL_BASE 0x80000000UL
#define USER_BASE 0x80200000UL
#define PRIVATE_A 0x80400000UL
#define PRIVATE_B 0x80600000UL
#define USER_END 0x80800000UL
#define REGION 0x200000UL

// kernel/devicetree.c
int devicetree_has(const void *tree, const char *compatible);
u64 devicetree_u32(const void *tree, const char *property, u64 otherwise);

// kernel/devices.c
void devices_find(const void *tree);
void console_put(u8 byte);
void power_off(u64 status) __attribute__((noreturn));

// kernel/calls.c
void console_flush(void);
void console_append(const char *text);
extern u64 timebase;

// kernel/space.c: the value of satp for address space 0 or 1.
u64 space_make(int which, int asid);
// The same file: bits that satp's address space identifier has on this hart.
u64 asid_probe(u64 satp);

#endif
