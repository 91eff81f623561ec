#include_next <sys/utsname.h>

#include "tutti-wrap.h"

#ifndef TUTTI_SYS_UTSNAME_H
#define TUTTI_SYS_UTSNAME_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(5, uname)
TUTTI_WRAP_END
#endif
