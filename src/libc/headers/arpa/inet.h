#include_next <arpa/inet.h>

#include "tutti-wrap.h"

#ifndef TUTTI_ARPA_INET_H
#define TUTTI_ARPA_INET_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(9, inet_addr)
TUTTI_WRAPPED(9, inet_pton)
TUTTI_WRAPPED(9, inet_ntop)
#if defined(__USE_MISC)
TUTTI_WRAPPED(9, inet_aton)
#endif
TUTTI_WRAP_END
#endif
