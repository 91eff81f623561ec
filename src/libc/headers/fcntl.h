#include_next <fcntl.h>

#include "tutti-wrap.h"

#ifndef TUTTI_FCNTL_H
#define TUTTI_FCNTL_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(4, open)
TUTTI_WRAPPED(5, creat)
#ifdef __USE_ATFILE
TUTTI_WRAPPED(6, openat)
#endif
#ifdef __USE_LARGEFILE64
TUTTI_WRAPPED(6, open64)
TUTTI_WRAPPED(7, creat64)
#ifdef __USE_ATFILE
TUTTI_WRAPPED(8, openat64)
#endif
#endif
TUTTI_WRAPPED(5, fcntl)
#if defined(__USE_LARGEFILE64)
TUTTI_WRAPPED(7, fcntl64)
#endif
TUTTI_WRAP_END
#endif
