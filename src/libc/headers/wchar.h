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
#if defined(__USE_ISOC95) || defined(__USE_UNIX98)
TUTTI_WRAPPED(8, wcsftime)
#endif
#if defined(__USE_GNU)
TUTTI_WRAPPED(10, wcsftime_l)
#endif
TUTTI_WRAPPED(7, mbrtowc)
TUTTI_WRAPPED(6, mbrlen)
TUTTI_WRAPPED(8, __mbrlen)
TUTTI_WRAPPED(7, wcrtomb)
TUTTI_WRAPPED(9, mbsrtowcs)
TUTTI_WRAPPED(9, wcsrtombs)
#if defined(__USE_XOPEN2K8)
TUTTI_WRAPPED(10, mbsnrtowcs)
TUTTI_WRAPPED(10, wcsnrtombs)
#endif
#if defined(__USE_XOPEN)
TUTTI_WRAPPED(8, wcswidth)
#endif
TUTTI_WRAPPED(6, fgetwc)
TUTTI_WRAPPED(5, getwc)
TUTTI_WRAPPED(8, getwchar)
TUTTI_WRAPPED(6, fputwc)
TUTTI_WRAPPED(5, putwc)
TUTTI_WRAPPED(8, putwchar)
TUTTI_WRAPPED(7, ungetwc)
TUTTI_WRAPPED(6, fgetws)
TUTTI_WRAPPED(6, fputws)
#if defined(__USE_ISOC95) || defined(__USE_UNIX98)
TUTTI_WRAPPED(5, fwide)
TUTTI_WRAPPED(8, swprintf)
TUTTI_WRAPPED(8, fwprintf)
TUTTI_WRAPPED(7, wprintf)
TUTTI_WRAPPED(9, vswprintf)
TUTTI_WRAPPED(9, vfwprintf)
TUTTI_WRAPPED(8, vwprintf)
#endif
#if defined(__USE_GNU)
TUTTI_WRAPPED(15, fgetwc_unlocked)
TUTTI_WRAPPED(14, getwc_unlocked)
TUTTI_WRAPPED(17, getwchar_unlocked)
TUTTI_WRAPPED(15, fputwc_unlocked)
TUTTI_WRAPPED(14, putwc_unlocked)
TUTTI_WRAPPED(17, putwchar_unlocked)
TUTTI_WRAPPED(15, fgetws_unlocked)
TUTTI_WRAPPED(15, fputws_unlocked)
#endif
TUTTI_WRAP_END
#endif
