#include_next <uchar.h>

#include "tutti-wrap.h"

#ifndef TUTTI_UCHAR_H
#define TUTTI_UCHAR_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(8, mbrtoc16)
TUTTI_WRAPPED(8, mbrtoc32)
TUTTI_WRAPPED(8, c16rtomb)
TUTTI_WRAPPED(8, c32rtomb)
TUTTI_WRAP_END
#endif
