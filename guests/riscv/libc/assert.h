#include <tollgate.h>
#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) \
    ((condition) ? (void)0 : (printf("%s:%d: assertion failed: %s\n", __FILE__, __LINE__, #condition), exit(134)))
#endif
