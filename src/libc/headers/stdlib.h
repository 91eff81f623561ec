#include_next <stdlib.h>

#include "tutti-wrap.h"

/* <stdlib.h> is also included for parts of it alone. */
#if defined(_STDLIB_H) && !defined(TUTTI_STDLIB_H)
#define TUTTI_STDLIB_H
TUTTI_WRAP_BEGIN
/* GCC knows these by itself, but not where it makes a malloc of a realloc. */
TUTTI_BUILTIN(6, malloc)
TUTTI_BUILTIN(6, calloc)
TUTTI_BUILTIN(4, free)
TUTTI_BUILTIN(7, realloc)
#ifdef __USE_MISC
TUTTI_WRAPPED(12, reallocarray)
#endif
#if (defined(__USE_XOPEN_EXTENDED) && !defined(__USE_XOPEN2K)) || defined(__USE_MISC)
TUTTI_WRAPPED(6, valloc)
#endif
#ifdef __USE_XOPEN2K
TUTTI_BUILTIN(14, posix_memalign)
#endif
#ifdef __USE_ISOC11
TUTTI_BUILTIN(13, aligned_alloc)
#endif
TUTTI_WRAP_END
#endif
