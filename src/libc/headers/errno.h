#include_next <errno.h>

#include "tutti-wrap.h"

/* Programs and headers also include <errno.h> only for its numbers. */
#if defined(errno) && !defined(TUTTI_ERRNO_H)
#define TUTTI_ERRNO_H
TUTTI_WRAP_BEGIN
TUTTI_PURE(__errno_location)
TUTTI_WRAP_END
#endif
