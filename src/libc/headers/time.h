#include_next <time.h>

#include "tutti-wrap.h"

/* <time.h> is also included for parts of it alone. */
#if defined(_TIME_H) && !defined(TUTTI_TIME_H)
#define TUTTI_TIME_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(4, time)
TUTTI_PURE(clock)
TUTTI_PURE(difftime)
#ifdef __USE_POSIX199309
TUTTI_WRAPPED(13, clock_gettime)
TUTTI_WRAPPED(12, clock_getres)
TUTTI_WRAPPED(9, nanosleep)
#endif
#ifdef __USE_ISOC11
TUTTI_WRAPPED(12, timespec_get)
#endif
TUTTI_WRAP_END
#endif
