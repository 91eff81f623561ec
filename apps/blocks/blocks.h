/* The common part of programs whose critical sections have become blocks. The header has work that waits for the
 * commit, tokens for longer than a block can last, and conditions. Both tutti-cc and gcc -fgnu-tm compile it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define TM_PURE __attribute__((transaction_pure))
#define TM_SAFE __attribute__((transaction_safe))

/* The part of the ABI that a program may call; GCC installs no header for it. */
TM_PURE int _ITM_inTransaction(void);
TM_PURE void _ITM_addUserCommitAction(void (*action)(void*), uint64_t transaction, void* argument);
TM_PURE void _ITM_addUserUndoAction(void (*action)(void*), void* argument);
enum { tm_any_transaction = 1 };
TM_PURE static inline bool tm_in_block(void) { return _ITM_inTransaction() != 0; }

/* Makes the block run `action(argument)` at its commit, while ownership is still held. Programs call this function
 * instead of the ABI's: GCC's libitm loses the action of a block that commits in hardware. REQUIRES: a block. */
void tm_at_commit(void (*action)(void*), void* argument) TM_PURE;

/* ---- deferred work --------------------------------------------------------------------------------------------
 * `tm_defer` runs `run(argument)` after the outermost block has committed. The work runs in the block's thread and
 * outside of every block, so the work may begin blocks of its own. Outside of a block, the work runs immediately. If
 * the block is rolled back, `drop(argument)` runs instead. Work runs when the thread leaves a block that was written
 * with one of the macros below. */
void tm_defer(void (*run)(void*), void (*drop)(void*), void* argument) TM_PURE;
void tm_leave(const int* scope) TM_PURE;
#define TM_SCOPE for (int tm_scope __attribute__((cleanup(tm_leave))) = 0; tm_scope == 0; tm_scope = 1)

/* ---- tokens ---------------------------------------------------------------------------------------------------
 * A thread holds a token while it sleeps, sends, or calls a function that blocks must not call. Blocks take and
 * release tokens. A thread that has to wait for a token sleeps until the block that releases it has committed. */
typedef struct tm_token {
    unsigned held;   /* accessed only in blocks */
    unsigned asleep; /* accessed only outside of blocks */
} tm_token;

void tm_token_take(tm_token* token);
bool tm_token_try(tm_token* token) TM_SAFE;
void tm_token_give(tm_token* token) TM_SAFE;
/* Returns when `token` may have become free. */
void tm_token_wait(tm_token* token);

/* A condition is a count of signals: a thread that waits for it sleeps until the count has changed. A signal inside
 * a block takes effect when the block commits. */
typedef struct tm_condition {
    unsigned signals;
    unsigned asleep;
} tm_condition;

/* Returns when its count differs from `seen`, which a block has read. */
void tm_condition_await(tm_condition* condition, unsigned seen);
void tm_condition_wait(tm_condition* condition, tm_token* token);
void tm_condition_wait_until(tm_condition* condition, tm_token* token, const struct timespec* when);
void tm_condition_signal(tm_condition* condition) TM_SAFE;
