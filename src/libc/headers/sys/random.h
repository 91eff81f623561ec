#include_next <sys/random.h>

#include "tutti-wrap.h"

#ifndef TUTTI_SYS_RANDOM_H
#define TUTTI_SYS_RANDOM_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(9, getrandom)
TUTTI_WRAP_END
#endif
