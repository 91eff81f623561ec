#include_next <sys/time.h>

#include "tutti-wrap.h"

#if defined(_SYS_TIME_H) && !defined(TUTTI_SYS_TIME_H)
#define TUTTI_SYS_TIME_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(12, gettimeofday)
TUTTI_WRAP_END
#endif
