#include_next <fnmatch.h>

#include "tutti-wrap.h"

#ifndef TUTTI_FNMATCH_H
#define TUTTI_FNMATCH_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(7, fnmatch)
TUTTI_WRAP_END
#endif
