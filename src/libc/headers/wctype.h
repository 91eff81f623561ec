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
#if defined(__USE_XOPEN2K8)
TUTTI_PURE(iswalnum_l)
TUTTI_PURE(iswalpha_l)
TUTTI_PURE(iswblank_l)
TUTTI_PURE(iswcntrl_l)
TUTTI_PURE(iswdigit_l)
TUTTI_PURE(iswgraph_l)
TUTTI_PURE(iswlower_l)
TUTTI_PURE(iswprint_l)
TUTTI_PURE(iswpunct_l)
TUTTI_PURE(iswspace_l)
TUTTI_PURE(iswupper_l)
TUTTI_PURE(iswxdigit_l)
TUTTI_PURE(iswctype_l)
TUTTI_PURE(towlower_l)
TUTTI_PURE(towupper_l)
TUTTI_PURE(towctrans_l)
#endif
TUTTI_WRAP_END
#endif
