#include_next <errno.h>

#include "tutti-wrap.h"

/* <errno.h> is also included for its numbers alone. */
#if defined(errno) && !defined(TUTTI_ERRNO_H)
#define TUTTI_ERRNO_H
TUTTI_WRAP_BEGIN
TUTTI_PURE(__errno_location)
TUTTI_WRAP_END
#endif
