#include_next <strings.h>

#include "tutti-wrap.h"

#if defined(_STRINGS_H) && !defined(TUTTI_STRINGS_H)
#define TUTTI_STRINGS_H
TUTTI_WRAP_BEGIN
TUTTI_BUILTIN(10, strcasecmp)
TUTTI_BUILTIN(11, strncasecmp)
#if defined(__USE_MISC) || !defined(__USE_XOPEN2K8)
TUTTI_BUILTIN(4, bcmp)
TUTTI_BUILTIN(5, bcopy)
TUTTI_BUILTIN(5, bzero)
#ifdef __CORRECT_ISO_CPP_STRINGS_H_PROTO
TUTTI_OVERLOADED_BUILTIN(5, index, char, (int c), (c))
TUTTI_OVERLOADED_BUILTIN(6, rindex, char, (int c), (c))
#else
TUTTI_WRAPPED(5, index)
TUTTI_WRAPPED(6, rindex)
#endif
#endif
#if defined(__USE_MISC) || !defined(__USE_XOPEN2K8) || defined(__USE_XOPEN2K8XSI)
TUTTI_PURE(ffs)
TUTTI_PURE_BUILTIN(ffs)
#endif
#ifdef __USE_MISC
TUTTI_PURE(ffsl)
TUTTI_PURE_BUILTIN(ffsl)
TUTTI_PURE(ffsll)
TUTTI_PURE_BUILTIN(ffsll)
#endif
TUTTI_WRAP_END
#endif
