/* In C++, libstdc++ overloads abs and div after the C library's own header. So this file first asks libstdc++ for
 * the C library's header alone. */
#if defined(__cplusplus) && !defined(_GLIBCXX_INCLUDE_NEXT_C_HEADERS)
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#include_next <stdlib.h>
#undef _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#else
#include_next <stdlib.h>
#endif

#include "tutti-wrap.h"

/* Other headers also include <stdlib.h> for parts of it. */
#if defined(_STDLIB_H) && !defined(TUTTI_STDLIB_H)
#define TUTTI_STDLIB_H
TUTTI_WRAP_BEGIN
/* GCC itself knows these functions as builtins, except for the malloc into which it converts a realloc. */
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
TUTTI_WRAPPED(6, mbtowc)
TUTTI_WRAPPED(5, mblen)
TUTTI_WRAPPED(6, wctomb)
TUTTI_WRAPPED(8, mbstowcs)
TUTTI_WRAPPED(8, wcstombs)
#if defined(__USE_MISC) || defined(__USE_XOPEN_EXTENDED)
TUTTI_WRAPPED(8, realpath)
#endif
#if defined(__USE_GNU)
TUTTI_WRAPPED(22, canonicalize_file_name)
#endif
#if defined(__USE_MISC) || defined(__USE_XOPEN_EXTENDED) || defined(__USE_XOPEN2K8)
TUTTI_WRAPPED(7, mkstemp)
#endif
#if defined(__USE_MISC)
TUTTI_WRAPPED(8, mkstemps)
#endif
#if defined(__USE_XOPEN2K8)
TUTTI_WRAPPED(7, mkdtemp)
#endif
#if defined(__USE_GNU)
TUTTI_WRAPPED(8, mkostemp)
TUTTI_WRAPPED(9, mkostemps)
#endif
#if defined(__USE_LARGEFILE64) && (defined(__USE_MISC) || defined(__USE_XOPEN_EXTENDED) || defined(__USE_XOPEN2K8))
TUTTI_WRAPPED(9, mkstemp64)
#endif
#if defined(__USE_LARGEFILE64) && defined(__USE_MISC)
TUTTI_WRAPPED(10, mkstemps64)
#endif
#if defined(__USE_LARGEFILE64) && defined(__USE_GNU)
TUTTI_WRAPPED(10, mkostemp64)
TUTTI_WRAPPED(11, mkostemps64)
#endif
#if defined(__USE_XOPEN_EXTENDED) || defined(__USE_MISC)
TUTTI_WRAPPED(9, initstate)
TUTTI_WRAPPED(8, setstate)
#endif
#if defined(__USE_MISC) || defined(__USE_XOPEN)
TUTTI_WRAPPED(6, seed48)
TUTTI_WRAPPED(7, lcong48)
#endif
#if defined(__USE_MISC)
TUTTI_WRAPPED(9, drand48_r)
TUTTI_WRAPPED(9, lrand48_r)
TUTTI_WRAPPED(9, mrand48_r)
TUTTI_WRAPPED(9, erand48_r)
TUTTI_WRAPPED(9, nrand48_r)
TUTTI_WRAPPED(9, jrand48_r)
TUTTI_WRAPPED(9, srand48_r)
TUTTI_WRAPPED(8, seed48_r)
TUTTI_WRAPPED(9, lcong48_r)
TUTTI_WRAPPED(10, getloadavg)
TUTTI_WRAPPED(6, ecvt_r)
TUTTI_WRAPPED(6, fcvt_r)
TUTTI_WRAPPED(7, qecvt_r)
TUTTI_WRAPPED(7, qfcvt_r)
TUTTI_WRAPPED(4, gcvt)
TUTTI_WRAPPED(5, qgcvt)
#endif
#if __GLIBC_USE(IEC_60559_BFP_EXT_C2X)
TUTTI_WRAPPED(8, strfromd)
TUTTI_WRAPPED(8, strfromf)
TUTTI_WRAPPED(8, strfroml)
#endif
#if defined(__USE_MISC)
TUTTI_WRAPPED(6, strtoq)
TUTTI_WRAPPED(7, strtouq)
#endif
TUTTI_WRAP_END
#endif

#if defined(__cplusplus) && !defined(_GLIBCXX_INCLUDE_NEXT_C_HEADERS)
#include_next <stdlib.h>
#endif
