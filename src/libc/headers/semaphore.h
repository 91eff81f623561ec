#include_next <semaphore.h>

#include "tutti-wrap.h"

#ifndef TUTTI_SEMAPHORE_H
#define TUTTI_SEMAPHORE_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(8, sem_post)
TUTTI_WRAPPED(12, sem_getvalue)
TUTTI_WRAPPED(11, sem_trywait)
TUTTI_WRAP_END
#endif
