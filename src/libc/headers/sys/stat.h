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
TUTTI_WRAP_END
#endif
