#include_next <ctype.h>

#include "tutti-wrap.h"

#if defined(_CTYPE_H) && !defined(TUTTI_CTYPE_H)
#define TUTTI_CTYPE_H
TUTTI_WRAP_BEGIN
TUTTI_PURE(__ctype_b_loc)
TUTTI_PURE(__ctype_tolower_loc)
TUTTI_PURE(__ctype_toupper_loc)
TUTTI_PURE(isalnum)
TUTTI_PURE(isalpha)
TUTTI_PURE(iscntrl)
TUTTI_PURE(isdigit)
TUTTI_PURE(islower)
TUTTI_PURE(isgraph)
TUTTI_PURE(isprint)
TUTTI_PURE(ispunct)
TUTTI_PURE(isspace)
TUTTI_PURE(isupper)
TUTTI_PURE(isxdigit)
TUTTI_PURE(tolower)
TUTTI_PURE(toupper)
#ifdef __USE_ISOC99
TUTTI_PURE(isblank)
#endif
#if defined(__USE_MISC) || defined(__USE_XOPEN)
TUTTI_PURE(isascii)
TUTTI_PURE(toascii)
#endif
TUTTI_WRAP_END
#endif
