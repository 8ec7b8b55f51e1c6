// Linux's numbers of system calls on RISC-V.
#ifndef TOLLGATE_SYSCALL_H
#define TOLLGATE_SYSCALL_H

#include <tollgate.h>

#define SYS_write 64
#define SYS_exit 93
#define SYS_exit_group 94
#define SYS_clock_gettime 113
#define SYS_sched_yield 124
#define SYS_gettimeofday 169
#define SYS_settimeofday 170
#define SYS_getpid 172
#define SYS_getuid 174
#define __NR_write SYS_write
#define __NR_exit SYS_exit
#define __NR_clock_gettime SYS_clock_gettime
#define __NR_gettimeofday SYS_gettimeofday
#define __NR_getpid SYS_getpid
#define __NR_getuid SYS_getuid

#endif
