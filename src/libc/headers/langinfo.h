#include_next <langinfo.h>

#include "tutti-wrap.h"

#ifndef TUTTI_LANGINFO_H
#define TUTTI_LANGINFO_H
TUTTI_WRAP_BEGIN
TUTTI_PURE(nl_langinfo)
#if defined(__USE_XOPEN2K8)
TUTTI_PURE(nl_langinfo_l)
#endif
TUTTI_WRAP_END
#endif
