/* What lbzip2's sources are compiled with once the semantic patches have made its critical sections blocks.
 *
 * A block is written `TM_SCHED() { ... }`. It is a loop around a transaction, so `break` and `continue` leave the
 * block; `return` leaves it, too, and commits it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "apps/blocks/blocks.h"

/* A failed assertion, and memory that is used up, end the process, so nobody has to take anything back. */
extern void __assert_fail(const char*, const char*, unsigned, const char*) __attribute__((noreturn)) TM_PURE;
void xalloc_die(void) __attribute__((noreturn)) TM_PURE;

/* In the place of failf in a block: the program fails once the block has committed. `what` is a constant. Under a lock
 * nobody came between the error and the end; here others see in their blocks that nothing is written any more, and that
 * the work is never done. */
extern bool tm_failed;
void tm_tell(const char* what) TM_PURE;
TM_SAFE static inline void tm_fail(const char* what) {
    tm_failed = true;
    tm_tell(what);
}
void tm_fail_if_told(const int* scope) TM_PURE;
/* Sends the process this signal when the block commits. */
void tm_raise(int signal) TM_PURE;

#define TM_BLOCK \
    for (int tm_told __attribute__((cleanup(tm_fail_if_told))) = 0; tm_told == 0; tm_told = 1) __transaction_atomic
/* Of the scheduler, of what is read, of what is to be written. */
#define TM_SCHED() TM_BLOCK
#define TM_SOURCE() TM_BLOCK
#define TM_SINK() TM_BLOCK

/* A block that runs when something holds, and otherwise waits for the condition: TM_HOLDS is in it before anything is
 * written. */
struct tm_wait {
    unsigned seen;
    bool over;
};
#define TM_WAIT(condition)                                                        \
    for (struct tm_wait tm_wait = {0, false}; !tm_wait.over;                      \
         tm_wait.over ? (void)0 : tm_condition_await(&(condition), tm_wait.seen)) \
    __transaction_atomic
#define TM_HOLDS(condition, holds)      \
    tm_wait.seen = (condition).signals; \
    tm_wait.over = (holds);             \
    if (!tm_wait.over) continue
