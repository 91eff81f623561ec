#include_next <netinet/in.h>

#include "tutti-wrap.h"

#if defined(_NETINET_IN_H) && !defined(TUTTI_NETINET_IN_H)
#define TUTTI_NETINET_IN_H
TUTTI_WRAP_BEGIN
TUTTI_PURE(htonl)
TUTTI_PURE(htons)
TUTTI_PURE(ntohl)
TUTTI_PURE(ntohs)
TUTTI_WRAP_END
#endif
