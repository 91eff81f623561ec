#include_next <sys/stat.h>

#include "tutti-wrap.h"

#ifndef TUTTI_SYS_STAT_H
#define TUTTI_SYS_STAT_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(4, stat)
TUTTI_WRAPPED(5, fstat)
TUTTI_WRAPPED(5, mkdir)
#if defined(__USE_MISC) || defined(__USE_XOPEN_EXTENDED) || defined(__USE_XOPEN2K)
TUTTI_WRAPPED(5, lstat)
#endif
#ifdef __USE_LARGEFILE64
TUTTI_WRAPPED(6, stat64)
TUTTI_WRAPPED(7, fstat64)
TUTTI_WRAPPED(7, lstat64)
#endif
TUTTI_WRAPPED(5, chmod)
TUTTI_WRAPPED(6, mkfifo)
TUTTI_WRAPPED(5, umask)
#if defined(__USE_POSIX199309) || defined(__USE_XOPEN_EXTENDED)
TUTTI_WRAPPED(6, fchmod)
#endif
#if defined(__USE_ATFILE)
TUTTI_WRAPPED(7, fstatat)
TUTTI_WRAPPED(7, mkdirat)
TUTTI_WRAPPED(8, mkfifoat)
#endif
#if defined(__USE_ATFILE) && defined(__USE_LARGEFILE64)
TUTTI_WRAPPED(9, fstatat64)
#endif
TUTTI_WRAP_END
#endif
