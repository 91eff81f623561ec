#include_next <semaphore.h>

#include "tutti-wrap.h"

#ifndef TUTTI_SEMAPHORE_H
#define TUTTI_SEMAPHORE_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(8, sem_post)
TUTTI_WRAP_END
#endif
