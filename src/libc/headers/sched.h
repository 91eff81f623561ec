#include_next <sched.h>

#include "tutti-wrap.h"

#ifndef TUTTI_SCHED_H
#define TUTTI_SCHED_H
TUTTI_WRAP_BEGIN
TUTTI_PURE(sched_yield)
TUTTI_PURE(sched_get_priority_max)
TUTTI_PURE(sched_get_priority_min)
#if defined(__USE_GNU)
TUTTI_PURE(sched_getcpu)
#endif
TUTTI_WRAP_END
#endif
