/* Included by lbzip2's sources after the semantic patches have made blocks of their critical sections.
 *
 * A block is written `TM_SCHED() { ... }`. The block is a loop around a transaction, so `break` and `continue` leave
 * the block. `return` also leaves the block and commits it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "apps/blocks/blocks.h"

/* A failed assertion or running out of memory ends the process, so nothing has to be undone. */
extern void __assert_fail(const char*, const char*, unsigned, const char*) __attribute__((noreturn)) TM_PURE;
void xalloc_die(void) __attribute__((noreturn)) TM_PURE;

/* Replaces failf in a block: the program fails once the block has committed. `what` is a constant. Under a lock, no
 * thread ran between the error and the end. Here other threads see in their blocks that no more output is written
 * and that the work never ends. */
extern bool tm_failed;
void tm_report_error(const char* what) TM_PURE;
TM_SAFE static inline void tm_fail(const char* what) {
    tm_failed = true;
    tm_report_error(what);
}
void tm_fail_after_error(const int* scope) TM_PURE;
/* Sends the process this signal at the block's commit. */
void tm_raise(int signal) TM_PURE;

#define TM_BLOCK \
    for (int tm_done __attribute__((cleanup(tm_fail_after_error))) = 0; tm_done == 0; tm_done = 1) __transaction_atomic
/* Blocks on the state of the scheduler, of the input, and of the output. */
#define TM_SCHED() TM_BLOCK
#define TM_SOURCE() TM_BLOCK
#define TM_SINK() TM_BLOCK

/* A block that runs when a predicate holds, and otherwise waits for the condition. The block contains TM_HOLDS
 * before its first write. */
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
