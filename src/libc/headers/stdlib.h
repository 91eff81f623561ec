/* In C++ abs and div are overloaded behind the C library's own header: libstdc++ is asked for that one alone first. */
#if defined(__cplusplus) && !defined(_GLIBCXX_INCLUDE_NEXT_C_HEADERS)
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#include_next <stdlib.h>
#undef _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#else
#include_next <stdlib.h>
#endif

#include "tutti-wrap.h"

/* <stdlib.h> is also included for parts of it alone. */
#if defined(_STDLIB_H) && !defined(TUTTI_STDLIB_H)
#define TUTTI_STDLIB_H
TUTTI_WRAP_BEGIN
TUTTI_BUILTIN(7, realloc)
TUTTI_PURE(abs)
TUTTI_PURE(labs)
TUTTI_PURE(div)
TUTTI_PURE(ldiv)
TUTTI_WRAPPED(4, atoi)
TUTTI_WRAPPED(4, atol)
TUTTI_WRAPPED(4, atof)
TUTTI_WRAPPED(6, strtol)
TUTTI_WRAPPED(7, strtoul)
TUTTI_WRAPPED(6, strtod)
TUTTI_WRAPPED(5, qsort)
TUTTI_WRAPPED(7, bsearch)
#ifdef __USE_ISOC99
TUTTI_PURE(llabs)
TUTTI_PURE(lldiv)
TUTTI_WRAPPED(5, atoll)
TUTTI_WRAPPED(7, strtoll)
TUTTI_WRAPPED(8, strtoull)
TUTTI_WRAPPED(6, strtof)
TUTTI_WRAPPED(7, strtold)
#endif
#ifdef __USE_GNU
TUTTI_WRAPPED(7, qsort_r)
#endif
TUTTI_WRAP_END
#endif

#if defined(__cplusplus) && !defined(_GLIBCXX_INCLUDE_NEXT_C_HEADERS)
#include_next <stdlib.h>
#endif
