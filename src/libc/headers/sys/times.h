#include_next <sys/times.h>

#include "tutti-wrap.h"

#ifndef TUTTI_SYS_TIMES_H
#define TUTTI_SYS_TIMES_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(5, times)
TUTTI_WRAP_END
#endif
