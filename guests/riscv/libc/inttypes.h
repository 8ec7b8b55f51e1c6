#ifndef TOLLGATE_INTTYPES_H
#define TOLLGATE_INTTYPES_H

#include <stdint.h>

#if __riscv_xlen == 64
#define TOLLGATE_64 "l"
#else
#define TOLLGATE_64 "ll"
#endif
#define PRId32 "ld"
#define PRIu32 "lu"
#define PRIx32 "lx"
#define PRId64 TOLLGATE_64 "d"
#define PRIi64 TOLLGATE_64 "i"
#define PRIu64 TOLLGATE_64 "u"
#define PRIx64 TOLLGATE_64 "x"
#define PRIX64 TOLLGATE_64 "X"
#define PRIdPTR "ld"
#define PRIuPTR "lu"
#define PRIxPTR "lx"

#endif
