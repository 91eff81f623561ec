#include_next <string.h>

#include "tutti-wrap.h"

#if defined(_STRING_H) && !defined(TUTTI_STRING_H)
#define TUTTI_STRING_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(6, memcmp)
TUTTI_WRAPPED(6, strlen)
TUTTI_WRAPPED(6, strcmp)
TUTTI_BUILTIN(7, strncmp)
TUTTI_WRAPPED(7, strcoll)
TUTTI_WRAPPED(7, strxfrm)
TUTTI_BUILTIN(6, strcpy)
TUTTI_BUILTIN(7, strncpy)
TUTTI_BUILTIN(6, strcat)
TUTTI_BUILTIN(7, strncat)
TUTTI_BUILTIN(6, strspn)
TUTTI_BUILTIN(7, strcspn)
TUTTI_WRAPPED(6, strtok)
TUTTI_PURE(strerror)
#if defined(__USE_MISC) || defined(__USE_XOPEN) || __GLIBC_USE(ISOC2X)
TUTTI_WRAPPED(7, memccpy)
#endif
#if defined(__USE_XOPEN_EXTENDED) || defined(__USE_XOPEN2K8) || __GLIBC_USE(LIB_EXT2) || __GLIBC_USE(ISOC2X)
TUTTI_BUILTIN(6, strdup)
#endif
#if defined(__USE_XOPEN2K8) || __GLIBC_USE(LIB_EXT2) || __GLIBC_USE(ISOC2X)
TUTTI_BUILTIN(7, strndup)
#endif
#ifdef __USE_POSIX
TUTTI_WRAPPED(8, strtok_r)
#endif
#ifdef __USE_XOPEN2K8
TUTTI_BUILTIN(7, strnlen)
TUTTI_BUILTIN(6, stpcpy)
TUTTI_BUILTIN(7, stpncpy)
TUTTI_PURE(strsignal)
#endif
#ifdef __USE_XOPEN2K
#ifdef __USE_GNU
TUTTI_WRAPPED(10, strerror_r)
#else
TUTTI_CLONE(16, __xpg_strerror_r, strerror_r, tutti_clone_strerror_r)
#endif
#endif
#ifdef __USE_MISC
TUTTI_WRAPPED(6, strsep)
TUTTI_WRAPPED(14, explicit_bzero)
#endif
#ifdef __USE_GNU
TUTTI_WRAPPED(6, memmem)
TUTTI_BUILTIN(7, mempcpy)
#endif
#ifdef __CORRECT_ISO_CPP_STRING_H_PROTO
TUTTI_OVERLOADED_BUILTIN(6, memchr, void, (int c, size_t size), (c, size))
TUTTI_OVERLOADED_BUILTIN(6, strchr, char, (int c), (c))
TUTTI_OVERLOADED_BUILTIN(7, strrchr, char, (int c), (c))
TUTTI_OVERLOADED_BUILTIN(6, strstr, char, (const char* needle), (needle))
TUTTI_OVERLOADED_BUILTIN(7, strpbrk, char, (const char* set), (set))
#ifdef __USE_GNU
TUTTI_OVERLOADED(9, rawmemchr, void, (int c), (c))
TUTTI_OVERLOADED(7, memrchr, void, (int c, size_t size), (c, size))
TUTTI_OVERLOADED(9, strchrnul, char, (int c), (c))
TUTTI_OVERLOADED(10, strcasestr, char, (const char* needle), (needle))
#endif
#else
TUTTI_WRAPPED(6, memchr)
TUTTI_WRAPPED(6, strchr)
TUTTI_WRAPPED(7, strrchr)
TUTTI_WRAPPED(6, strstr)
TUTTI_WRAPPED(7, strpbrk)
#ifdef __USE_GNU
TUTTI_WRAPPED(9, rawmemchr)
TUTTI_WRAPPED(7, memrchr)
TUTTI_WRAPPED(9, strchrnul)
TUTTI_WRAPPED(10, strcasestr)
#endif
#endif
#if defined(__USE_GNU)
TUTTI_WRAPPED(7, memfrob)
#endif
TUTTI_WRAP_END
#endif
