#include_next <time.h>

#include "tutti-wrap.h"

/* Other headers also include <time.h> for parts of it. */
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
TUTTI_WRAPPED(9, localtime)
TUTTI_WRAPPED(6, gmtime)
TUTTI_WRAPPED(7, asctime)
TUTTI_WRAPPED(5, ctime)
TUTTI_WRAPPED(6, mktime)
TUTTI_WRAPPED(8, strftime)
#if defined(__USE_POSIX)
TUTTI_WRAPPED(11, localtime_r)
TUTTI_WRAPPED(8, gmtime_r)
TUTTI_WRAPPED(9, asctime_r)
TUTTI_WRAPPED(7, ctime_r)
TUTTI_WRAPPED(5, tzset)
#endif
#if defined(__USE_MISC)
TUTTI_WRAPPED(6, timegm)
TUTTI_WRAPPED(9, timelocal)
#endif
#if defined(__USE_XOPEN)
TUTTI_WRAPPED(8, strptime)
#endif
#if defined(__USE_XOPEN2K8)
TUTTI_WRAPPED(10, strftime_l)
#endif
#if __GLIBC_USE(ISOC2X)
TUTTI_WRAPPED(15, timespec_getres)
#endif
TUTTI_WRAP_END
#endif
