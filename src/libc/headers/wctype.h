#include_next <wctype.h>

#include "tutti-wrap.h"

#if defined(_WCTYPE_H) && !defined(TUTTI_WCTYPE_H)
#define TUTTI_WCTYPE_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(6, wctype)
TUTTI_WRAPPED(7, wctrans)
TUTTI_PURE(iswalnum)
TUTTI_PURE(iswalpha)
TUTTI_PURE(iswcntrl)
TUTTI_PURE(iswdigit)
TUTTI_PURE(iswgraph)
TUTTI_PURE(iswlower)
TUTTI_PURE(iswprint)
TUTTI_PURE(iswpunct)
TUTTI_PURE(iswspace)
TUTTI_PURE(iswupper)
TUTTI_PURE(iswxdigit)
TUTTI_PURE(iswctype)
TUTTI_PURE(towlower)
TUTTI_PURE(towupper)
TUTTI_PURE(towctrans)
#ifdef __USE_ISOC99
TUTTI_PURE(iswblank)
#endif
TUTTI_WRAP_END
#endif
