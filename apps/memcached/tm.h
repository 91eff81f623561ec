/* Included by memcached's sources after the semantic patches have made blocks of their critical sections. Defines
 * the kinds of block, and replacements for functions that a block must not call.
 *
 *   TM_NO_LOCKS      no lock is left: pthread's mutexes and conditions become tokens and counts
 *   TM_LOCKS_INSIDE  blocks take locks that still exist: they are relaxed, and their functions are only callable
 *   TM_NAIVE         every block is relaxed, and the functions that it calls have no attribute
 *
 * A block is written `TM_ITEM(hv) { ... }`. The block is a loop around a transaction, so `break` and `continue`
 * leave the block. `return` also leaves the block and commits it. */
#pragma once

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apps/blocks/blocks.h"

/* The conversion adds TM_CALLED to memcached's own functions that blocks call. */
#if defined(TM_NAIVE)
#define TM_CALLED
#define TM_ATOMIC __transaction_relaxed
#elif defined(TM_LOCKS_INSIDE)
#define TM_CALLED __attribute__((transaction_callable))
#define TM_ATOMIC __transaction_relaxed
#else
#define TM_CALLED TM_SAFE
#define TM_ATOMIC __transaction_atomic
#endif

/* Blocks may fail an assertion, and may log. A failed assertion ends the process, so nothing has to be undone.
 * tm_fprintf delays the log message until the block has committed. */
extern void __assert_fail(const char*, const char*, unsigned, const char*) __attribute__((noreturn)) TM_PURE;
int tm_fprintf(FILE* to, const char* format, ...) TM_PURE __attribute__((format(printf, 2, 3)));
void tm_perror(const char* what) TM_PURE;
#define fprintf tm_fprintf
#define perror tm_perror

/* Replaces LOGGER_LOG inside blocks. */
#define TM_LOG(l, flag, type, ...)                                            \
    do {                                                                      \
        logger* tm_to = (l) != NULL ? (logger*)(l) : tm_own_logger();         \
        if (tm_log_wanted(tm_to, (flag))) tm_log(tm_to, (type), __VA_ARGS__); \
    } while (0)

/* ---- blocks ---------------------------------------------------------------------------------------------------*/

/* A block that finds its bucket held leaves, waits for the token, and starts again. */
struct tm_bucket {
    tm_token* token;
    bool entered;
};
tm_token* tm_item_token(uint32_t hv) TM_PURE;

#define TM_ITEM(hv)                                                                            \
    TM_SCOPE for (struct tm_bucket tm_bucket = {tm_item_token(hv), false}; !tm_bucket.entered; \
                  tm_bucket.entered ? (void)0 : tm_token_wait(tm_bucket.token)) TM_ATOMIC
#define TM_ITEM_ENTER(hv)                \
    if (tm_bucket.token->held) continue; \
    tm_bucket.entered = true
/* Inside a block: null if another thread holds the bucket's token. */
#define TM_ITEM_TRY(hv) (tm_item_token(hv)->held ? NULL : (void*)1)

#define TM_LRU() TM_SCOPE TM_ATOMIC
#define TM_BUMP() TM_SCOPE TM_ATOMIC
#define TM_CRAWL() TM_SCOPE TM_ATOMIC
#define TM_MOVE() TM_SCOPE TM_ATOMIC
#define TM_SLABS() TM_SCOPE TM_ATOMIC
#define TM_STATS() TM_SCOPE TM_ATOMIC
/* These blocks call code that the compiler cannot see: formatting for a client, a function of the crawler. */
#define TM_LRU_RELAXED() TM_SCOPE __transaction_relaxed
#define TM_CRAWL_RELAXED() TM_SCOPE __transaction_relaxed
#define TM_SLABS_RELAXED() TM_SCOPE __transaction_relaxed
#define TM_STATS_RELAXED() TM_SCOPE __transaction_relaxed

/* Adds to a thread's own count, which other threads read. The second function is for blocks: it adds after the block
 * has committed. */
static inline void tm_count(uint64_t* counter, int64_t by) {
    __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + (uint64_t)by, __ATOMIC_RELAXED);
}
TM_PURE void tm_count_at_commit(uint64_t* counter, int64_t by);
/* Counts an item of this size as linked, or, if negative, as unlinked. */
TM_PURE void tm_count_item(int64_t bytes);

/* Many threads add to `total`, and additions are never undone. */
TM_PURE void tm_add(uint64_t* total, int64_t by);
/* These two functions take and set a number immediately. A block that is rolled back does not return its number,
 * because the number only has to differ from all others and to grow. */
TM_PURE uint64_t tm_next(uint64_t* number);
TM_PURE void tm_set(uint64_t* number, uint64_t to);

/* ---- the C library inside blocks ------------------------------------------------------------------------------*/

/* The key of an item in the table does not change until the item has left the table and every block that could still
 * see it has ended. So the key is compared without barriers. */
TM_PURE bool tm_same_key(const void* a, const void* b, size_t size);
/* Reads `from` with barriers, and writes `to` without: `to` belongs to the thread, and is not read after a
 * roll-back. REQUIRES: a block. */
void* tm_copy_out(void* to, const void* from, size_t size) __asm__("_ITM_memcpyRtWn") TM_PURE;
/* Copies in the other direction: `from` belongs to the thread. REQUIRES: a block. */
void* tm_copy_in(void* to, const void* from, size_t size) __asm__("_ITM_memcpyRnWt") TM_PURE;
TM_SAFE bool tm_parse_number(const char* text, uint64_t* number);
TM_SAFE size_t tm_strlen(const char* text);
TM_SAFE void* tm_realloc(void* old, size_t size);
#define realloc tm_realloc

/* ---- no locks -------------------------------------------------------------------------------------------------*/
#ifdef TM_NO_LOCKS
#define pthread_mutex_t tm_token
#undef PTHREAD_MUTEX_INITIALIZER
#define PTHREAD_MUTEX_INITIALIZER {0}
static inline int tm_token_init(tm_token* token) {
    *token = (tm_token){0, 0};
    return 0;
}
#define pthread_mutex_init(token, attributes) tm_token_init(token)
#define pthread_mutex_destroy(token) ((void)(token))
#define pthread_mutex_lock(token) tm_token_take(token)
#define pthread_mutex_unlock(token) tm_token_give(token)
#define pthread_mutex_trylock(token) (tm_token_try(token) ? 0 : EBUSY)
#define pthread_cond_t tm_condition
#undef PTHREAD_COND_INITIALIZER
#define PTHREAD_COND_INITIALIZER {0}
#define pthread_cond_init(condition, attributes) ((void)(*(condition) = (tm_condition){0, 0}))
#define pthread_cond_wait(condition, token) tm_condition_wait(condition, token)
#define pthread_cond_timedwait(condition, token, when) tm_condition_wait_until(condition, token, when)
#define pthread_cond_signal(condition) tm_condition_signal(condition)
#endif
