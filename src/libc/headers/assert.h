/* A program may include <assert.h> repeatedly, with and without NDEBUG. src/libc/failing.cpp has the clones. */
#include_next <assert.h>

#include "tutti-wrap.h"

#if defined(_ASSERT_H_DECLS) && !defined(TUTTI_ASSERT_H)
#define TUTTI_ASSERT_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(13, __assert_fail)
TUTTI_WRAPPED(20, __assert_perror_fail)
TUTTI_WRAP_END
#endif
