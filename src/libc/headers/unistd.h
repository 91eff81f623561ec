#include_next <unistd.h>

#include "tutti-wrap.h"

#if defined(_UNISTD_H) && !defined(TUTTI_UNISTD_H)
#define TUTTI_UNISTD_H
TUTTI_WRAP_BEGIN
TUTTI_PURE(getpid)
TUTTI_PURE(getppid)
TUTTI_WRAP_END
#endif
