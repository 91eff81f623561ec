#include_next <inttypes.h>

#include "tutti-wrap.h"

#if defined(_INTTYPES_H) && !defined(TUTTI_INTTYPES_H)
#define TUTTI_INTTYPES_H
TUTTI_WRAP_BEGIN
TUTTI_PURE(imaxabs)
TUTTI_PURE_BUILTIN(imaxabs)
TUTTI_PURE(imaxdiv)
TUTTI_WRAPPED(9, strtoimax)
TUTTI_WRAPPED(9, strtoumax)
TUTTI_WRAPPED(9, wcstoimax)
TUTTI_WRAPPED(9, wcstoumax)
TUTTI_WRAP_END
#endif
