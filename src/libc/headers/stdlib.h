#include_next <stdlib.h>

#include "tutti-wrap.h"

/* <stdlib.h> is also included for parts of it alone. */
#if defined(_STDLIB_H) && !defined(TUTTI_STDLIB_H)
#define TUTTI_STDLIB_H
TUTTI_WRAP_BEGIN
TUTTI_BUILTIN(7, realloc)
TUTTI_WRAP_END
#endif
