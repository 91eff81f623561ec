#include_next <sys/resource.h>

#include "tutti-wrap.h"

#ifndef TUTTI_SYS_RESOURCE_H
#define TUTTI_SYS_RESOURCE_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(9, getrusage)
TUTTI_WRAPPED(9, getrlimit)
TUTTI_WRAP_END
#endif
