#include_next <pthread.h>

#include "tutti-wrap.h"

#ifndef TUTTI_PTHREAD_H
#define TUTTI_PTHREAD_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(19, pthread_cond_signal)
TUTTI_WRAPPED(22, pthread_cond_broadcast)
TUTTI_PURE(pthread_getspecific)
TUTTI_WRAPPED(19, pthread_setspecific)
TUTTI_WRAPPED(18, pthread_key_create)
TUTTI_WRAPPED(18, pthread_key_delete)
TUTTI_WRAP_END
#endif
