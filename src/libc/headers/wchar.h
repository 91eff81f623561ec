#include_next <wchar.h>

#include "tutti-wrap.h"

#if defined(_WCHAR_H) && !defined(TUTTI_WCHAR_H)
#define TUTTI_WCHAR_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(6, wcslen)
TUTTI_WRAPPED(6, wcscmp)
TUTTI_WRAPPED(7, wcsncmp)
TUTTI_WRAPPED(7, wcscoll)
TUTTI_WRAPPED(7, wcsxfrm)
TUTTI_WRAPPED(6, wcscpy)
TUTTI_WRAPPED(7, wcsncpy)
TUTTI_WRAPPED(6, wcscat)
TUTTI_WRAPPED(7, wcsncat)
TUTTI_WRAPPED(6, wcsspn)
TUTTI_WRAPPED(7, wcscspn)
TUTTI_WRAPPED(6, wcstok)
TUTTI_WRAPPED(7, wmemcpy)
TUTTI_WRAPPED(8, wmemmove)
TUTTI_WRAPPED(7, wmemset)
TUTTI_WRAPPED(7, wmemcmp)
TUTTI_WRAPPED(6, wcstol)
TUTTI_WRAPPED(7, wcstoul)
TUTTI_WRAPPED(6, wcstod)
TUTTI_PURE(btowc)
TUTTI_PURE(wctob)
#ifdef __USE_ISOC99
TUTTI_WRAPPED(6, wcstof)
TUTTI_WRAPPED(7, wcstold)
TUTTI_WRAPPED(7, wcstoll)
TUTTI_WRAPPED(8, wcstoull)
#endif
#ifdef __USE_XOPEN2K8
TUTTI_WRAPPED(7, wcsnlen)
TUTTI_WRAPPED(10, wcscasecmp)
TUTTI_WRAPPED(11, wcsncasecmp)
TUTTI_WRAPPED(6, wcsdup)
TUTTI_WRAPPED(6, wcpcpy)
TUTTI_WRAPPED(7, wcpncpy)
#endif
#if defined(__USE_XOPEN)
TUTTI_PURE(wcwidth)
#endif
#ifdef __USE_GNU
TUTTI_WRAPPED(8, wmempcpy)
#endif
#ifdef __CORRECT_ISO_CPP_WCHAR_H_PROTO
TUTTI_OVERLOADED(6, wcschr, wchar_t, (wchar_t c), (c))
TUTTI_OVERLOADED(7, wcsrchr, wchar_t, (wchar_t c), (c))
TUTTI_OVERLOADED(6, wcsstr, wchar_t, (const wchar_t* needle), (needle))
TUTTI_OVERLOADED(7, wcspbrk, wchar_t, (const wchar_t* set), (set))
TUTTI_OVERLOADED(7, wmemchr, wchar_t, (wchar_t c, size_t count), (c, count))
#ifdef __USE_GNU
TUTTI_WRAPPED(9, wcschrnul)
#endif
#else
TUTTI_WRAPPED(6, wcschr)
TUTTI_WRAPPED(7, wcsrchr)
TUTTI_WRAPPED(6, wcsstr)
TUTTI_WRAPPED(7, wcspbrk)
TUTTI_WRAPPED(7, wmemchr)
#ifdef __USE_GNU
TUTTI_WRAPPED(9, wcschrnul)
#endif
#endif
TUTTI_WRAP_END
#endif
