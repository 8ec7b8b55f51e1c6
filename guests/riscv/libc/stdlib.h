#include <tollgate.h>
