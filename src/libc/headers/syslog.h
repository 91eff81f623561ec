#include_next <syslog.h>

#include "tutti-wrap.h"

#ifndef TUTTI_SYSLOG_H
#define TUTTI_SYSLOG_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(6, syslog)
#ifdef __USE_MISC
TUTTI_WRAPPED(7, vsyslog)
#endif
TUTTI_WRAP_END
#endif
