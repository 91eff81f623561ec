#include_next <malloc.h>

#include "stdlib.h"
#include "tutti-wrap.h"

#ifndef TUTTI_MALLOC_H
#define TUTTI_MALLOC_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(8, memalign)
TUTTI_WRAPPED(18, malloc_usable_size)
TUTTI_WRAP_END
#endif
