/// @file
/// Actions of a running transaction on itself: wait, choose, restart, cancel, or become irrevocable.
#pragma once

#include "tutti/c/base.h"

TUTTI_C_BEGIN

/// Rolls the transaction back. Runs it again once another commit has changed something that it has read; the thread
/// sleeps until then. Inside `tutti_or_else`, the next alternative runs first. This call is an error of use in an
/// irrevocable transaction. In a transaction that has read nothing, it is also an error of use, because nothing could
/// ever wake the transaction.
TUTTI_API TUTTI_NORETURN void tutti_retry(tutti_tx* tx);

/// Waits as `tutti_retry` does, but for at most `nanoseconds` in all, over every restart of this execution of the
/// block. Then the function returns, and the code after it handles the timeout. In an alternative that is not the last
/// one, the function does not wait but leaves to the next alternative. If the transaction has read nothing, the
/// function sleeps for the whole time. Each call has its own limit, which counts from the first time that this
/// execution reached it.
TUTTI_API void tutti_retry_for(tutti_tx* tx, uint64_t nanoseconds);

/// Rolls back the innermost block and runs it again at once.
TUTTI_API TUTTI_NORETURN void tutti_restart(tutti_tx* tx);

/// Rolls back the innermost block and leaves it. The block returns TUTTI_CANCELLED.
TUTTI_API TUTTI_NORETURN void tutti_cancel(tutti_tx* tx);

/// One of the alternatives of `tutti_or_else`.
typedef struct tutti_alternative {
    tutti_body* body;
    void* argument;
} tutti_alternative;

/// Runs the first alternative. If it calls `tutti_retry`, rolls it back and runs the next one, and so on. If the last
/// alternative retries, the whole transaction waits until something that any of them has read changes. Every
/// alternative is a closed nested block, except for `tutti_cancel`, which cancels the block that called
/// `tutti_or_else`.
///
/// @return TUTTI_COMMITTED, or the error of the alternative that did not retry; that alternative then had no effect
TUTTI_API int tutti_or_else(tutti_tx* tx, const tutti_alternative* alternatives, size_t count);

/// From here on, only the block itself can abort the transaction, so the block may have effects that cannot be undone.
/// May restart the outermost block first. One transaction at a time is irrevocable; a second request waits. Idempotent.
/// Afterwards `tutti_retry`, `tutti_restart` and `tutti_become_visible` are errors of use. `tutti_cancel` still rolls
/// back memory.
///
/// @param reason  recorded at the block's site; a string that lives on (a literal), or null
TUTTI_API void tutti_become_irrevocable(tutti_tx* tx, const char* reason);
/// From here on, this transaction's reads are visible. May restart the outermost block first. Idempotent.
TUTTI_API void tutti_become_visible(tutti_tx* tx);

/// Returns true if only the block itself can abort the transaction, because the block asked for that. Returns false if
/// the library made the transaction irrevocable on its own, for a deadline or after too many restarts: this promises
/// the body nothing. Costs two loads.
TUTTI_API bool tutti_is_irrevocable(const tutti_tx* tx);
/// Returns 1 in the first attempt of the outermost block, and one more after each restart.
TUTTI_API unsigned tutti_attempt(const tutti_tx* tx);
/// Returns the cause of the previous attempt's roll-back; TUTTI_ABORT_NONE in the first attempt.
TUTTI_API tutti_abort_cause tutti_last_abort(const tutti_tx* tx);

/// Returns the transaction that this thread runs, or null. For callbacks that do not receive the transaction.
TUTTI_API tutti_tx* tutti_current(void);

TUTTI_C_END
