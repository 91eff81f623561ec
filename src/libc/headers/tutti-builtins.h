/* Builtins that are called without the header that declares the function: by libstdc++ (std::char_traits, std::abs),
   or by inline functions of the C library. The headers of those functions leave them out. */
#ifndef TUTTI_BUILTINS_H
#define TUTTI_BUILTINS_H

#include "tutti-wrap.h"

TUTTI_WRAP_BEGIN
TUTTI_CLONE_OF_BUILTIN(6, strlen)
TUTTI_CLONE_OF_BUILTIN(6, memcmp)
TUTTI_CLONE_OF_BUILTIN(6, memchr)
TUTTI_CLONE_OF_BUILTIN(6, strcmp)
TUTTI_CLONE_OF_BUILTIN(6, strchr)
TUTTI_CLONE_OF_BUILTIN(7, strrchr)
TUTTI_CLONE_OF_BUILTIN(6, strstr)
TUTTI_CLONE_OF_BUILTIN(7, strpbrk)
TUTTI_CLONE_OF_BUILTIN(5, index)
TUTTI_CLONE_OF_BUILTIN(6, rindex)
TUTTI_PURE_BUILTIN(abs)
TUTTI_PURE_BUILTIN(labs)
TUTTI_PURE_BUILTIN(llabs)
TUTTI_PURE_BUILTIN(fabs)
TUTTI_PURE_BUILTIN(fabsf)
TUTTI_PURE_BUILTIN(fabsl)
TUTTI_WRAP_END

#endif
