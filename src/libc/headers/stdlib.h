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
TUTTI_WRAPPED(4, rand)
TUTTI_WRAPPED(5, srand)
TUTTI_WRAPPED(6, getenv)
TUTTI_BUILTIN(4, exit)
TUTTI_WRAPPED(6, atexit)
#if defined(__USE_XOPEN_EXTENDED) || defined(__USE_MISC)
TUTTI_WRAPPED(6, random)
TUTTI_WRAPPED(7, srandom)
#endif
#ifdef __USE_POSIX
TUTTI_WRAPPED(6, rand_r)
#endif
#if defined(__USE_MISC) || defined(__USE_XOPEN)
TUTTI_WRAPPED(7, drand48)
TUTTI_WRAPPED(7, lrand48)
TUTTI_WRAPPED(7, mrand48)
TUTTI_WRAPPED(7, erand48)
TUTTI_WRAPPED(7, nrand48)
TUTTI_WRAPPED(7, jrand48)
TUTTI_WRAPPED(7, srand48)
TUTTI_WRAPPED(6, putenv)
#endif
#ifdef __USE_XOPEN2K
TUTTI_WRAPPED(6, setenv)
TUTTI_WRAPPED(8, unsetenv)
#endif
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
