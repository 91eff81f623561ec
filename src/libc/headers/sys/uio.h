#include_next <sys/uio.h>

#include "tutti-wrap.h"

#ifndef TUTTI_SYS_UIO_H
#define TUTTI_SYS_UIO_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(5, readv)
TUTTI_WRAPPED(6, writev)
#if defined(__USE_MISC)
TUTTI_WRAPPED(6, preadv)
TUTTI_WRAPPED(7, pwritev)
#endif
#if defined(__USE_MISC) && defined(__USE_LARGEFILE64)
TUTTI_WRAPPED(8, preadv64)
TUTTI_WRAPPED(9, pwritev64)
#endif
TUTTI_WRAP_END
#endif
