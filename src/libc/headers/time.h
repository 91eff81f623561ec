#include_next <time.h>

#include "tutti-wrap.h"

/* <time.h> is also included for parts of it alone. */
#if defined(_TIME_H) && !defined(TUTTI_TIME_H)
#define TUTTI_TIME_H
TUTTI_WRAP_BEGIN
#ifdef __USE_POSIX199309
TUTTI_WRAPPED(9, nanosleep)
#endif
TUTTI_WRAP_END
#endif
